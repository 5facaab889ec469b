// What the page does better with a script; without it everything can be read, and forms work.
"use strict";

const rows = () => [...document.querySelectorAll("[data-row]")];

// How many memories are chosen, and all of them at once.
function count() {
  const boxes = [...document.querySelectorAll("[data-choose]")];
  const chosen = boxes.filter((box) => box.checked).length;
  const all = document.querySelector("[data-choose-all]");
  if (all) {
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  }
  document.querySelectorAll("[data-chosen]").forEach((shown) => {
    shown.textContent = chosen ? `${chosen} chosen` : shown.dataset.chosen;
  });
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-choose-all]")) {
    document.querySelectorAll("[data-choose]").forEach((box) => {
      box.checked = event.target.checked;
    });
  }
  count();
});
document.addEventListener("htmx:afterSettle", count);
document.addEventListener("DOMContentLoaded", count);

// Keys: / searches, j and k walk through rows, x chooses one, Enter opens it, data-key presses.
function walk(step) {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + step))];
  const target = next && (next.querySelector("a, button, input") || next);
  if (target) target.focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape" && typing) event.target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = document.activeElement.closest("[data-row]");
  if (event.key === "/") {
    const box = document.querySelector("[data-search]");
    if (box) { box.focus(); box.select(); event.preventDefault(); }
  } else if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (event.key === "x" && row) {
    const box = row.querySelector("[data-choose]");
    if (box) { box.checked = !box.checked; count(); }
  } else {
    const places = row ? [row, ...document.querySelectorAll(".notice")] : [document];
    const keyed = places.flatMap((place) => [...place.querySelectorAll("[data-key]")]);
    const button = keyed.find((one) => one.dataset.key === event.key);
    if (button) { button.focus(); button.click(); event.preventDefault(); }
  }
});
