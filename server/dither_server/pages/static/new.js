// The form for a new collection: advice that follows what is filled in.
"use strict";

(() => {
  const WAIT = 400; // milliseconds after the last key
  const form = document.getElementById("new");
  const place = document.getElementById("advice");
  let newest = 0;

  async function advise(wait) {
    const mine = ++newest;
    await new Promise((done) => setTimeout(done, wait));
    if (mine !== newest) return;
    place.setAttribute("aria-busy", "true");
    const fields = new URLSearchParams(new FormData(form));
    fields.delete("name"); // the advice is not about it, and addresses are bounded
    try {
      const reply = await fetch(`/new/advice?${fields}`, { cache: "no-store" });
      const text = await reply.text();
      if (mine === newest) place.innerHTML = reply.ok ? text : ""; // made by this server, which escapes
    } finally {
      place.removeAttribute("aria-busy");
    }
  }

  // A family's priors are those of its own parameters.
  function choosePriors() {
    for (const prior of form.querySelectorAll("[data-families]")) {
      const own = prior.dataset.families.split(" ").includes(form.elements.family.value);
      prior.hidden = !own;
      prior.querySelector("input").disabled = !own;
      prior.querySelector(".of").hidden = true;
    }
  }

  form.elements.family.addEventListener("input", choosePriors);
  form.addEventListener("input", () => advise(WAIT));
  choosePriors();
  advise(0);
})();
