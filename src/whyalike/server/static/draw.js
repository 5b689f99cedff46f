// Behaviour of pictures. The pictures themselves are HTML that the server made, every text escaped.

export const signed = (value, digits = 3) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);

// The classes of /picture.css: p0 to p20 and n0 to n20.
export function shade(element, step) {
  element.classList.remove(...[...element.classList].filter((name) => /^[pn]\d+$/.test(name)));
  element.classList.add(step < 0 ? `n${-step}` : `p${step}`);
}

export const put = (place, html) => { place.innerHTML = html; };

// Curves between the strongest pairs, behind the words of the two texts that stand above each other. They follow the words.
const LINKED = 40; // units; between longer texts links are a thicket

export function links(place, pairs) {
  place.querySelector(":scope > svg")?.remove(); // not the map of a long text
  place.classList.remove("linked");
  const [left, right] = [...place.querySelectorAll(".line")].map((text) => [...text.querySelectorAll("[data-index]")]);
  if (!left || !right || Math.max(left.length, right.length) > LINKED) return;
  if ([left, right].some((words) => words.some((word) => word.offsetTop !== words[0].offsetTop))) return; // links would cross words
  place.classList.add("linked");
  const ground = place.getBoundingClientRect();
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", `0 0 ${ground.width} ${ground.height}`);
  for (const pair of pairs) {
    if (pair.value <= 0) continue;
    const from = left[pair.left_index].getBoundingClientRect(), to = right[pair.right_index].getBoundingClientRect();
    const [x, y] = [from.x + from.width / 2 - ground.x, from.bottom - ground.y];
    const [u, v] = [to.x + to.width / 2 - ground.x, to.top - ground.y];
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${x} ${y}C${x} ${(y + v) / 2} ${u} ${(y + v) / 2} ${u} ${v}`);
    path.setAttribute("stroke-width", 1 + pair.shade / 4);
    path.setAttribute("class", `p${pair.shade}`);
    svg.append(path);
  }
  place.prepend(svg);
}
