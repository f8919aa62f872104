/**
 * The element `<dither-answer server="https://survey.example.org" collection="ID">`: a server's page for answering, in a
 * frame that is as high as the page. The frame is of the server's origin: this page sees nothing of what is typed there.
 */

import { InvalidAddress } from "./errors.js";
import { collectionPath, parseAddress } from "./http.js";

const HIGHEST = 20_000; // pixels
const TITLE = "A question to answer privately";

export class DitherAnswer extends HTMLElement {
  static observedAttributes = ["server", "collection"];
  #frame = document.createElement("iframe");

  constructor() {
    super();
    this.#frame.style.cssText = "border: 0; display: block; height: 40rem; width: 100%";
  }

  connectedCallback() {
    window.addEventListener("message", this.#resize);
    this.#show();
  }

  disconnectedCallback() {
    window.removeEventListener("message", this.#resize);
  }

  attributeChangedCallback() {
    if (this.isConnected) {
      this.#show();
    }
  }

  #show() {
    try {
      const server = parseAddress(this.getAttribute("server") ?? "");
      const path = collectionPath(this.getAttribute("collection") ?? "");
      const address = `${server}${path.replace(/^\/v1/, "")}/answer?embed`;
      this.#frame.title = this.title || TITLE;
      // A frame loads its page again whenever it is given an address or a place, even the one that it has.
      if (this.#frame.getAttribute("src") !== address) {
        this.#frame.src = address;
      }
      if (this.firstChild !== this.#frame) {
        this.replaceChildren(this.#frame);
      }
    } catch (error) {
      if (!(error instanceof InvalidAddress)) {
        throw error;
      }
      this.replaceChildren(error.message);
    }
  }

  /** @param {MessageEvent} event */
  #resize = ({ source, origin, data }) => {
    const height = data?.dither?.height;
    const mine = source === this.#frame.contentWindow && origin === new URL(this.#frame.src).origin;
    if (mine && Number.isFinite(height)) {
      this.#frame.style.height = `${Math.min(Math.max(height, 0), HIGHEST)}px`;
    }
  };
}

if (!customElements.get("dither-answer")) {
  customElements.define("dither-answer", DitherAnswer);
}
