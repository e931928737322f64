"""sentences: the meaning of the lines of a .flow file. A table of patterns; the first pattern that matches a whole line is used."""
import re

STEPS = []


def step(pattern):
    def add(function):
        STEPS.append((re.compile(pattern, re.S), function))
        return function
    return add


def read(path):
    """[(line number, sentence)], with indented lines joined to the sentence they stand under."""
    sentences = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            first, text = sentences[-1]
            sentences[-1] = (first, text + (" " if text.endswith(":") else "\n") + line.strip())
        else:
            sentences.append((number, line.strip()))
    return sentences


def meaning(sentence):
    for pattern, function in STEPS:
        found = pattern.fullmatch(sentence)
        if found:
            return function, found.groups()
    raise SystemExit(f"no such sentence: {sentence}")
