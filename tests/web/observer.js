// Stands in the page before its own script comes: what was on the screen as a key or a button was pressed, what was sent of it, and
// the page's clock. With @isReal the clock is left alone; else a test lets the page's guard pass at once.
(isReal) => {
  const beat = 50, watchdog = 5000; // the page's own: between two of its looks at the screen, and at whether the gate still speaks
  const guard = 400; // the page's own, too
  const answers = ["/api/answer", "/api/undo", "/api/revoke"];
  const early = /^The page has just moved/; // what it says then
  const held = window.fetch, clock = performance.now.bind(performance), every = window.setInterval.bind(window);
  const looks = [];
  let skipped = 0, pending = 0, armed = null, isRefused = false;
  const stray = []; // sent, and nothing was pressed

  if (!isReal) {
    performance.now = () => clock() + skipped;
    window.setInterval = (then, ms, ...more) => {
      if (ms === beat)
        looks.push(then);
      // The page looks when the test says so. A gate that lives would seem silent for long: that is tested elsewhere, by a real clock.
      return [beat, watchdog].includes(ms) ? 0 : every(then, ms, ...more);
    };
    // What stands where is known before it is drawn, which takes most of the time: a frame is a task here.
    const due = [];
    window.requestAnimationFrame = (then) => {
      if (due.push(then) === 1)
        scheduler.postTask(() => due.splice(0).forEach((each) => each(performance.now())), { delay: 1 });
      return 0;
    };
  }

  // Counts until the answer is there, whole.
  window.fetch = async (path, how) => {
    if (path === "/api/events")
      return held(path, how);
    if (answers.includes(path))
      (armed?.sent ?? stray).push({ path, ...JSON.parse(how.body), before: armed?.before ?? null });
    pending++;
    try {
      const response = await held(path, how), text = await response.text();
      return new Response(text === "" ? null : text, { status: response.status, headers: response.headers });
    } finally {
      pending--;
    }
  };

  const texts = function* (node) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text; (text = walker.nextNode());)
      yield text;
  };
  const one = (css) => document.querySelector(css), all = (css) => [...document.querySelectorAll(css)];
  const frame = () => new Promise((done) => requestAnimationFrame(() => done()));

  // --- each word that was drawn whole, in the window, on top: by its text, until that changes

  const words = new WeakMap();
  const range = document.createRange();
  const isOut = (box) => box.right < 0 || box.bottom < 0 || box.left > innerWidth || box.top > innerHeight;
  const isDrawn = (text, box) => {
    if (box.left < -1 || box.top < -1 || box.right > innerWidth + 1 || box.bottom > innerHeight + 1)
      return false;
    const top = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return top !== null && (top === text.parentElement || text.parentElement.contains(top));
  };
  const known = (text) => {
    let found = words.get(text);
    if (found?.data !== text.data) {
      found = { data: text.data, all: [...text.data.matchAll(/\S+/g)], seen: new Set(), isWhole: false };
      words.set(text, found);
    }
    return found;
  };
  // The words of one text that are drawn now; they count as seen from now on.
  const look = (text) => {
    const of = known(text), drawn = [];
    range.selectNodeContents(text);
    if (isOut(range.getBoundingClientRect()))
      return drawn;
    for (const word of of.all) {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const boxes = [...range.getClientRects()];
      if (boxes.length === 0 || !boxes.every((box) => isDrawn(text, box)))
        continue;
      of.seen.add(word.index);
      drawn.push(word[0]);
    }
    of.isWhole = of.seen.size === of.all.length;
    return drawn;
  };
  const shown = () => [...texts(document.body)].filter((text) => text.data.trim() && text.parentElement.checkVisibility());
  // Both look again only if something may look otherwise: for words that have not been seen, and at all that is drawn now.
  const mutations = new MutationObserver(() => changed());
  const placed = () => [innerWidth, innerHeight, scrollX, scrollY, ...all("#confirm-list, #panels > div, .facts dd").map((node) => node.scrollTop)].join();
  let eyed = null, last = null, lastPlace = "";
  const notice = () => mutations.takeRecords().length > 0 && changed();
  const eyes = () => {
    const place = placed();
    notice();
    if (eyed === place)
      return;
    eyed = place;
    for (const text of shown()) {
      if (!known(text).isWhole)
        look(text);
    }
  };
  const drawn = () => {
    const place = placed();
    notice();
    if (last === null || lastPlace !== place)
      [last, lastPlace] = [new Map(shown().map((text) => [text, look(text)])), place];
    return last;
  };
  const isRead = (node) => [...texts(node)].every((text) => !text.data.trim() || known(text).isWhole);
  const changed = () => {
    eyed = last = null;
  };
  addEventListener("scroll", changed, true);
  addEventListener("resize", changed);
  addEventListener("DOMContentLoaded",
    () => mutations.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true }));

  // What is on the screen.
  const screen = () => {
    const now = drawn(), open = one(".question.open"), list = one("dialog#confirm[open]"), warning = open?.querySelector(".warning");
    const typed = open?.querySelector(".typed:not([hidden]) code");
    return {
      now: [...now.values()].map((drawn) => drawn.join("")).join(""),
      boxes: all(".open .grant, .undo-line, #confirm-kind").filter((node) => node.checkVisibility())
        .map((node) => [...texts(node)].map((text) => (now.get(text) ?? []).join("")).join("")),
      name: open !== null && isRead(open.querySelector(".target")),
      warning: warning ? isRead(warning) : null,
      typed: typed ? typed.checkVisibility() && isRead(typed) : null,
      picked: list || one("#several").hidden ? 0 : all(".tick:checked").length,
      rows: list ? [...list.querySelectorAll("li")].map((row) => [row.textContent, isRead(row)]) : [],
    };
  };

  // What a person has chosen and sees a part of: a key that changes nothing of it leaves the state as new.
  const state = () => {
    const values = (css) => all(css).map((node) => node.type === "checkbox" || node.type === "radio" ? node.checked : node.value).join();
    const at = document.activeElement;
    return JSON.stringify([one(".question.open")?.getAttribute("aria-label"), values(".open .scopes input"), values(".open [data-width]"), values(".tick"),
      at.matches("input[type=text]") ? "typing" : values(".open input[type=text]") + at.id + at.className + all(".question").indexOf(at),
      all("details, dialog").map((node) => node.open).join(), Math.round(scrollY), Math.round(one("#confirm-list").scrollTop),
      one("[role=tab][aria-selected=true]").id, values("#search, #group, #order"), one("#several").hidden, all(".question").length]);
  };

  // What a click can be meant for, and is in the window now: [name, x, y].
  const targets = () => {
    const counts = {};
    return all("button, summary, input, select, a").flatMap((node) => {
      if (!node.checkVisibility() || node.disabled)
        return [];
      const box = node.getBoundingClientRect(), x = Math.round(box.left + box.width / 2), y = Math.round(box.top + box.height / 2);
      if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight)
        return [];
      const top = document.elementFromPoint(x, y), label = node.closest("label");
      if (!top || !(node.contains(top) || top.contains(node) || label?.contains(top)) || node.matches("select"))
        return [];
      const name = `${node.tagName} ${node.id || node.className || node.name || ""} ${node.value ?? ""} ${node.textContent.slice(0, 30)}`;
      counts[name] = (counts[name] ?? 0) + 1;
      return [[`${name} ${counts[name]}`, x, y]];
    });
  };

  // --- waiting for what can be seen

  const until = async (condition, what) => {
    for (const end = clock() + 25000; !condition(); await frame()) {
      if (clock() > end)
        throw new Error(`waited in vain for ${what}`);
    }
  };
  const places = () => all("button, summary, input, .target, .grant, .warning, dialog li").map((node) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return `${left} ${top} ${width} ${height}`;
  }).join();
  // Nothing is on its way, and for @ms nothing has moved: at least from one frame to the next.
  const quiet = async (ms = 0) => {
    let last = "", still = 0, since = clock();
    await until(() => {
      const now = pending > 0 ? "" : places();
      if (pending > 0 || now !== last)
        [still, since, last] = [0, clock(), now];
      return ++still > 2 && clock() - since >= ms;
    }, "the page to rest");
  };
  // The page has looked at what stands on the screen, and so have we.
  const looked = async () => {
    for (let times = 0; times < 2; times++) {
      looks.forEach((look) => look());
      await frame();
    }
    if (isReal)
      await quiet(3 * beat);
    eyes();
  };
  // As a person who waits before the next key: the page's guard is over.
  const ready = async () => {
    if (isReal)
      return quiet(guard + 2 * beat).then(eyes);
    await quiet();
    for (let times = 0, before = ""; times < 2 || before !== places(); times++) { // what the page has seen may move a button
      if (times > 20)
        throw new Error("the page moves at each of its looks");
      before = places();
      await looked();
      skipped += guard + beat;
    }
  };

  // --- a key, or a click: taken only where the page is as it was when the test armed

  const refuse = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  for (const kind of ["keydown", "pointerdown"]) {
    addEventListener(kind, (event) => {
      if (armed === null || !event.isTrusted)
        return;
      isRefused = armed.isOver = armed.isOver || pending > 0 || state() !== armed.wanted;
      if (isRefused)
        return refuse(event);
      armed.presses++;
      armed.before = screen();
    }, { capture: true, passive: false });
  }
  for (const kind of ["keypress", "beforeinput", "keyup", "mousedown", "pointerup", "mouseup", "click"])
    addEventListener(kind, (event) => armed !== null && isRefused && event.isTrusted && refuse(event), { capture: true, passive: false });

  const arm = () => {
    isRefused = false;
    armed = { wanted: state(), presses: 0, isOver: false, before: null, sent: [] };
    return armed.wanted;
  };
  // What became of what was pressed since.
  const result = async () => {
    const { sent } = armed, before = armed.before;
    await quiet();
    if (sent.length > 0 && before.rows.length + before.picked > 0) { // of several it sends one after the other
      await until(() => sent.length === before.rows.length + before.picked, "an answer for each row");
      await quiet();
    }
    const found = { presses: armed.presses, isOver: armed.isOver, sent, stray, state: state(), isEarly: [".open .wrong", "#confirm-read"].some((css) => early.test(one(css)?.textContent)), closed: one("#closed").hidden ? "" : one("#closed-text").textContent };
    armed = null;
    return found;
  };

  // --- states

  const reset = () => {
    all("dialog[open]").forEach((dialog) => dialog.close());
    if (!one("#several").hidden)
      one("#pick").click();
    document.activeElement.blur();
    one(".question.open .opener")?.click();
    one("#tab-live").click();
    document.body.style.paddingTop = document.body.style.paddingBottom = "";
    scrollTo(0, 0);
  };
  // So many questions, and nothing else: no grant, no dialog, no choice; none of them open.
  const clean = async (count) => {
    await until(() => all(".question").length === count && all("#panel-grants li").length === 0, `${count} questions`);
    await quiet();
    reset();
    scrollTo(0, 0);
  };
  // Scrolls over the open question as a reader does, and back to where its answers are.
  const read = async () => {
    await quiet();
    await looked();
    const boxes = all(".open .grant"), foot = one(".open .buttons").getBoundingClientRect().bottom;
    if (boxes.length < 2 || foot > innerHeight || ![...boxes, ...all(".open .target, .open .warning, .open .typed:not([hidden]) code")].every(isRead)) {
      for (const css of [".target", ".warning", ".typed:not([hidden])", ".deny-text", ".allow-text"]) {
        one(`.open ${css}`)?.scrollIntoView({ block: "center" });
        await looked();
      }
    }
    await ready();
  };
  const open = (scope) => {
    one(".question .opener").click();
    document.activeElement.blur();
    if (scope)
      one(`.open .scopes input[value=${scope}]`).click();
    document.activeElement.blur();
  };
  // A letter, which chooses an answer: its button has the focus, or the place where its domain is typed.
  const letter = async (key) => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await until(() => document.activeElement.matches(".open .buttons button, .open .typed input"), `what ${key} chooses`);
  };
  const pick = () => {
    one("#pick").click();
    one("#pick-all").click();
    one("#several-scope").value = "session";
    document.activeElement.blur();
  };

  window.observer = { one, all, frame, until, quiet, looked, ready, arm, result, reset, clean, read, open, letter, pick, targets,
    isOpen: () => one("#link")?.dataset.state === "open" };
}
