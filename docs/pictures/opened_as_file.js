/**
 * Says how to serve the site on a page that was opened as a file, where browsers run neither the search nor the modules of
 * the pictures. So this is not a module itself.
 */
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.id = "opened-as-file";
  note.className = "admonition";
  note.textContent =
    "This page was opened as a file: the search, and the pictures that move, need a server. In the folder of the site, " +
    "python3 -m http.server 8080 is one, and the documentation is then at http://127.0.0.1:8080.";
  document.querySelector("article")?.prepend(note);
}
