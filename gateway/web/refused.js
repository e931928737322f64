// What the gate refuses, or that it is not reached: no error of the page.
export class Refused extends Error {
  constructor(status, code, text) {
    super(text);
    this.status = status;
    this.code = code;
  }

  // @error, when it is one of these; anything else is an error of the page, and goes on.
  static only(error) {
    if (!(error instanceof Refused))
      throw error;
    return error;
  }
}
