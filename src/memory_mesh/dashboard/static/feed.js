// The live feed: one batch a second at most, and no more lines than a reader can hold.
"use strict";

const MOST_LINES = 200;

function follow(list) {
  const state = document.querySelector("[data-feed-state]");
  const pulse = document.querySelector("[data-pulse]");
  const pause = document.querySelector("[data-feed-pause]");
  let kept = [];
  let missed = 0;
  let seen = 0;

  const put = (batch) => {
    const fresh = new DOMParser().parseFromString(batch.html, "text/html");
    const lines = [...fresh.querySelectorAll("li")];
    lines.forEach((line) => line.classList.add("fresh"));
    list.prepend(...lines);
    while (list.children.length > MOST_LINES) list.lastElementChild.remove();
    seen += lines.length + batch.more;
    const left = batch.more ? `, ${batch.more.toLocaleString("en")} more not shown` : "";
    state.textContent = `${seen.toLocaleString("en")} since you opened this page${left}`;
    document.querySelectorAll("[data-feed-empty]").forEach((empty) => empty.remove());
  };

  const source = new EventSource(list.dataset.feed);
  source.addEventListener("open", () => { pulse.hidden = false; pulse.classList.remove("off"); });
  source.addEventListener("error", () => {
    pulse.classList.add("off");
    state.textContent = "the connection is gone; trying again";
  });
  source.addEventListener("batch", (event) => {
    const batch = JSON.parse(event.data);
    if (pause.getAttribute("aria-pressed") !== "true") { put(batch); return; }
    missed += 1;
    kept.push(batch);
    if (kept.length > 10) kept[1].more += kept.shift().count;
    state.textContent = `paused; ${missed} batches wait`;
  });
  pause.hidden = false;
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) { kept.forEach(put); kept = []; missed = 0; }
  });
  window.addEventListener("pagehide", () => source.close());
}

document.querySelectorAll("[data-feed]").forEach(follow);
