"use strict";
// What the pages do beyond plain links and forms: follow a run, filter and sort candidates, mark the section in view.

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

// A run under way. Markup comes from the server, where every text in it was escaped.
function follow(place) {
  let last = place.dataset.after;
  let due = "";
  const heard = {
    again: () => one("#log").replaceChildren(),
    line: ({ html }) => one("#log").insertAdjacentHTML("beforeend", html),
    board: ({ html }) => {
      one("#board").innerHTML = html;
      const said = one("#due").dataset.say;
      if (said !== due) one("#said").textContent = due = said; // readers of screens hear changes, not each second
    },
    asked: ({ html }) => {
      if (one("#approval").childElementCount && html) return; // somebody may be filling it in
      one("#approval").innerHTML = html;
      one("#asked")?.focus();
    },
    end: () => location.reload(),
    gone: async () => { // the server was ended in the middle of the run, and is back
      await fetch(`${place.dataset.run}/resume`, { method: "POST" });
      location.reload();
    },
  };
  const listen = () => {
    const source = new EventSource(`${place.dataset.run}/events?after=${last}`);
    source.onopen = () => { one("#gone").hidden = true; };
    source.onerror = () => {
      one("#gone").hidden = false; // most browsers ask again by themselves, with the number of the last event
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
    };
    for (const [kind, answer] of Object.entries(heard)) {
      source.addEventListener(kind, (event) => {
        last = event.lastEventId || last;
        if (kind === "end" || kind === "gone") source.close();
        answer(JSON.parse(event.data));
      });
    }
  };
  listen();
}

const LEVELS = ["high", "moderate", "low", "very low"];

function labelled(label, id, field) {
  field.id = id;
  return element("p", {}, element("label", { for: id }, label), field);
}

function candidates(tables) {
  const groups = tables.map((table) => all("tbody tr", table).filter((row) => one("th[scope=row]", row)));
  const rows = groups.flat();
  const columns = all("thead th", tables[0]);
  const certainty = (row) => LEVELS.findIndex((level) => one(`.l-${level.replace(" ", "-")}`, row));
  const key = (row, at) => {
    const text = row.cells[at].textContent.trim();
    if (columns[at].textContent === "certainty") return certainty(row) < 0 ? LEVELS.length : certainty(row);
    return row.cells[at].classList.contains("number") ? -parseFloat(text) : text.toLowerCase();
  };
  const option = (text, value) => element("option", { value }, text);
  const words = element("input", { type: "search", autocomplete: "off" });
  const least = element("select", {}, option("any", LEVELS.length), ...LEVELS.slice(0, 3).map(
    (level, at) => option(at ? `${level} or better` : level, at)));
  const order = element("select", {}, option("best supported first", ""), ...columns.map(
    (column, at) => option(column.textContent, at)));
  const status = element("p", { role: "status" });
  const apply = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const level = certainty(row);
      const fits = row.textContent.toLowerCase().includes(wanted) &&
        (Number(least.value) === LEVELS.length || (level >= 0 && level <= Number(least.value)));
      row.hidden = !fits;
      const card = document.getElementById((one("a[href^='#']", row)?.getAttribute("href") ?? "#").slice(1));
      if (card) card.hidden = !fits;
      shown += fits;
    }
    status.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} candidates shown`;
  };
  const sort = () => {
    const at = Number(order.value);
    for (const [place, group] of groups.entries()) {
      const sorted = order.value === "" ? group : [...group].sort((a, b) => {
        const [x, y] = [key(a, at), key(b, at)];
        return x < y ? -1 : x > y ? 1 : 0;
      });
      const heads = all("thead th", tables[place]);
      heads.forEach((head) => head.toggleAttribute("aria-sort", false));
      if (order.value !== "") {
        const falls = group[0].cells[at].classList.contains("number");
        heads[at].setAttribute("aria-sort", falls ? "descending" : "ascending");
      }
      one("tbody", tables[place]).append(...sorted);
    }
  };
  words.addEventListener("input", apply);
  least.addEventListener("change", apply);
  order.addEventListener("change", sort);
  const tools = element("div", { class: "tools", role: "group", "aria-label": "Filter and sort the candidates" },
    labelled("Filter by words", "filter-words", words), labelled("Certainty", "filter-certainty", least),
    labelled("Sort by", "sort-by", order), status);
  (tables[0].closest(".scroll") ?? tables[0]).before(tools);
}

function contents(nav) {
  const links = new Map(all("a[href^='#']", nav).map((link) => [link.getAttribute("href").slice(1), link]));
  const watching = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section) watching.observe(section);
  }
}

const live = one("#live");
if (live) follow(live);
const tables = all("#candidates table.overview");
if (tables.length) candidates(tables);
const nav = one(".report > nav");
if (nav) contents(nav);
document.addEventListener("submit", (event) => {
  const { busy } = event.target.dataset;
  const button = busy && one("[type=submit]", event.target);
  if (!button) return;
  if (button.hasAttribute("aria-disabled")) event.preventDefault(); // asked already
  button.setAttribute("aria-disabled", "true");
  button.textContent = busy;
});
document.addEventListener("click", ({ target }) => {
  const name = target.dataset?.all;
  if (!name) return;
  const boxes = all(`[name="${name}"]`, target.closest("form"));
  const none = boxes.every((box) => box.checked);
  for (const box of boxes) box.checked = !none;
});
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
