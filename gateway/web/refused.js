// refused: the gate has refused a request or cannot be reached. This is not an error of the page.
export class Refused extends Error {
  constructor(status, code, text) {
    super(text);
    this.status = status;
    this.code = code;
  }

  // Returns @error if it is one of these; throws any other error again, because it is an error of the page.
  static only(error) {
    if (!(error instanceof Refused))
      throw error;
    return error;
  }
}
