/**
 * Runs before the page is painted, from within it: whoever has answered is not shown the form until the ledger is read.
 * What it reads, `answer.js` has kept.
 */
try {
  if (localStorage.getItem(`dither:${location.pathname.split("/")[2]}`)) {
    document.documentElement.classList.add("answered");
  }
} catch {
  // A browser that keeps nothing shows the form until the ledger is read.
}
