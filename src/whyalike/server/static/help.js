// The question marks beside the controls: their text shows on hover, focus and tap, and goes with Esc.

for (const help of document.querySelectorAll(".help")) {
  const [button, text] = help.children;
  let pinned = false;
  const show = (shown) => {
    text.hidden = !shown;
    button.setAttribute("aria-expanded", String(shown));
  };
  const leave = () => pinned || show(false);
  help.addEventListener("mouseenter", () => show(true));
  help.addEventListener("mouseleave", leave);
  button.addEventListener("focus", () => show(true));
  button.addEventListener("blur", () => { pinned = false; show(false); });
  button.addEventListener("click", () => { pinned = !pinned; show(pinned); });
  help.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    pinned = false;
    show(false);
    event.stopPropagation();
  });
}
