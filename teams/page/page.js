"use strict";
// What the pages do beyond plain links and forms: follow a run, filter candidates, sort tables, open a record beside its claim.

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
      const said = one("#due").dataset.say.replace(/\d+/g, "…");
      if (said !== due) one("#said").textContent = due = said; // readers of screens hear changes, not each record
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

const certainty = (row) => LEVELS.findIndex((level) => one(`.l-${level.replace(" ", "-")}`, row));

function filters(tables) {
  const rows = tables.flatMap((table) => all("tbody tr", table));
  const option = (text, value) => element("option", { value }, text);
  const words = element("input", { type: "search", autocomplete: "off" });
  const least = element("select", {}, option("any", LEVELS.length), ...LEVELS.slice(0, 3).map(
    (level, at) => option(at ? `${level} or better` : level, at)));
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
  words.addEventListener("input", apply);
  least.addEventListener("change", apply);
  const tools = element("div", { class: "tools", role: "group", "aria-label": "Filter the candidates" },
    labelled("Filter by words", "filter-words", words), labelled("Certainty", "filter-certainty", least), status);
  (tables[0].closest(".scroll") ?? tables[0]).before(tools);
}

// A click on a column's name sorts by it, a second one the other way round. Rows move with what stands below them.
function sortable(table) {
  const key = (row, at) => {
    const cell = row.cells[at];
    const level = one(".level", cell) && certainty(cell);
    if (level !== null) return level < 0 ? LEVELS.length : level;
    const text = cell.textContent.trim();
    const number = parseFloat(text.replaceAll(",", ""));
    return /^[\d,.]+(\s|$)/.test(text) ? number : text.toLowerCase();
  };
  const heads = all("thead th", table);
  heads.forEach((head, at) => {
    const button = element("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      const order = (before ? before === "descending" : !isNumber) ? "ascending" : "descending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      for (const body of table.tBodies) {
        const units = [];
        for (const row of body.rows) {
          if (row.classList.contains("group")) continue;
          if (row.classList.contains("below")) units.at(-1).push(row);
          else units.push([row]);
        }
        units.sort(([a], [b]) => {
          const [x, y] = [key(a, at), key(b, at)];
          if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1; // what is not reported comes last
          return (x < y ? -1 : x > y ? 1 : 0) * (order === "ascending" ? 1 : -1);
        });
        body.append(...units.flat());
      }
    });
  });
}

// A citation opens the record beside the claim, its passages marked. Without scripts it is a page of its own.
function beside(report) {
  const close = element("button", { type: "button", class: "quiet" }, "Close");
  const content = element("div", { class: "content" });
  const panel = element("aside", { id: "beside", "aria-label": "The record cited", tabindex: "-1" }, close, content);
  panel.hidden = true;
  report.append(panel);
  let from = null;
  const shut = () => {
    panel.hidden = true;
    from?.classList.remove("open");
    from?.focus();
  };
  close.addEventListener("click", shut);
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape" && !panel.hidden) shut(); });
  report.addEventListener("click", async (event) => {
    const link = event.target.closest("a[href*='/records/']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    from?.classList.remove("open");
    from = link;
    link.classList.add("open");
    const answer = await fetch(link.href).catch(() => null);
    if (!answer?.ok) { location.href = link.href; return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    content.replaceChildren(one(".record", page));
    all("[name=by]", content).forEach(remember);
    panel.hidden = false;
    panel.focus({ preventScroll: true });
    const mark = one("mark", content);
    link.scrollIntoView({ block: innerWidth < 960 ? "start" : "center" });
    panel.scrollTop = mark && !one(".says", content) ? Math.max(0, mark.offsetTop - panel.clientHeight / 2) : 0;
  });
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

// A follow-up is answered below the report; without scripts its answer is a page of its own.
function followUp(form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const field = one("#more", form);
    const address = `${form.action}?question=${encodeURIComponent(field.value)}`;
    const button = one("[type=submit]", form);
    button.setAttribute("aria-disabled", "true");
    const answer = await fetch(address).catch(() => null);
    button.removeAttribute("aria-disabled");
    if (!answer) { location.href = address; return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const told = one(".within", page) ?? element("p", { class: "problem", role: "alert" }, one("main", page).textContent.trim());
    one("#answers").append(told);
    field.value = "";
    told.focus?.();
  });
}

// Who corrects is asked once, and kept in this browser.
function remember(field) {
  field.value ||= localStorage.getItem("person") ?? "";
  field.addEventListener("input", () => localStorage.setItem("person", field.value));
}

const live = one("#live");
if (live) follow(live);
const overviews = all("#candidates table.overview");
if (overviews.length) filters(overviews);
all(".report table").forEach(sortable);
if (one(".report")) beside(one(".report"));
if (one("#follow-up")) followUp(one("#follow-up"));
all("[name=by]").forEach(remember);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form?.requestSubmit();
});
one("#print")?.addEventListener("click", () => window.print());
const nav = one(".report > nav");
if (nav) contents(nav);
document.addEventListener("submit", (event) => {
  const { busy } = event.target.dataset;
  const button = busy && (event.submitter ?? one("[type=submit]", event.target));
  if (!button) return;
  if (button.name) event.target.append(element("input", { type: "hidden", name: button.name, value: button.value }));
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
