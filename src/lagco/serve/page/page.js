// The page: what is shown, what is asked of the service, and looking again every second.

import { drawChart, drawPicture, percent } from "/page/draw.js";

const $ = id => document.getElementById(id);
const EVERY = 1000, MOST_ENTRIES = 1000, SHOWN = 60;
// events that the page offers first: they need no more than names that are there
const USUAL = ["link-down", "pm-down"];
const page = { id: null, live: null, entries: [], last: 0, decision: null, problems: [], token: "" };

async function ask(method, path, body) {
  const headers = page.token ? { Authorization: `Bearer ${page.token}` } : {};
  if (body !== undefined && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(body);
  }
  const answer = await fetch(path, { method, headers, body });
  if (answer.status === 401) $("access").hidden = false;
  const text = await answer.text();
  const content = text ? JSON.parse(text) : {};
  if (!answer.ok) throw new Error(content.detail ?? answer.statusText);
  return content;
}

// a refusal is shown; what follows goes on
async function tried(work) {
  try {
    const found = await work();
    $("trouble").hidden = true;
    return found;
  } catch (error) {
    $("trouble").textContent = error.message;
    $("trouble").hidden = false;
    return null;
  }
}

const path = rest => `/v1/instances/${page.id}${rest}`;
const number = value => (value === null ? "∞" : Number(value.toPrecision(6)).toString());

function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

async function list() {
  const { instances } = await ask("GET", "/v1/instances");
  const ids = instances.map(live => live.id);
  if (!ids.includes(page.id)) show(ids.at(-1) ?? null);
  const texts = instances.map(live => [live.id, `${live.instance} (${live.problem})`]);
  if ($("instances").dataset.shown !== JSON.stringify(texts)) {
    options($("instances"), texts, page.id);
    $("instances").dataset.shown = JSON.stringify(texts);
  }
  $("nothing").hidden = ids.length > 0;
  $("main").hidden = $("delete").hidden = ids.length === 0;
}

function show(id) {
  Object.assign(page, { id, live: null, entries: [], last: 0, decision: null });
  $("instances").value = id;
}

// one look after the other: two at the same time would add the same entries twice
let looking = Promise.resolve();
const look = () => looking = looking.catch(() => {}).then(lookNow);

async function lookNow() {
  if (page.id === null) return;
  const id = page.id;
  const { entries } = await ask("GET", path(`/history?after=${page.last}&limit=${MOST_ENTRIES}`));
  if (id !== page.id || (page.live !== null && !entries.length)) return;
  page.entries = [...page.entries, ...entries].slice(-MOST_ENTRIES);
  page.last = page.entries.at(-1)?.seq ?? 0;
  page.live = await ask("GET", path(""));
  if (id !== page.id) return;
  const latest = page.entries.findLast(entry => entry.kind === "decision");
  if (latest !== undefined) page.decision = await ask("GET", path(`/decisions/${latest.answer.decision}`));
  render();
}

function render() {
  const live = page.live, about = page.problems.find(one => one.name === live.problem);
  $("objective").textContent = number(live.objective);
  $("meaning").textContent = about?.objective ?? "";
  const unserved = live.unserved > 0 ? ` · ${percent(live.unserved)} cannot be served` : "";
  $("facts").textContent = ` · version ${live.version}${unserved}`;
  const changes = page.decision?.state === "proposed" ? page.decision.changes : [];
  drawPicture($("picture"), live.picture, new Set(changes.map(change => change.name)), toggle);
  $("hint").textContent = live.picture.kind === "network" ? "Click a link to take it down, or to bring it up again." : "";
  drawChart($("chart"), [{ at: live.created, objective: live.start, kind: "events" }, ...page.entries]);
  rows($("fullest"), live.fullest.map(one => [one.name, percent(one.use)]));
  $("history").replaceChildren(...page.entries.slice(-SHOWN).reverse().map(written));
  renderDecision();
  const events = about?.events ?? [], select = $("tell").elements.kind;
  if (select.dataset.of === live.id) return;
  select.dataset.of = live.id;
  const first = events.find(event => USUAL.includes(event.name)) ?? events[0];
  options(select, events.map(event => [event.name, event.name]), first?.name);
  suggest();
}

function renderDecision() {
  const decision = page.decision;
  $("decision").hidden = decision === null;
  if (decision === null) return;
  $("before").textContent = number(decision.before);
  $("after").textContent = number(decision.after);
  const reason = decision.late ? "nothing came in time" : decision.refused;
  $("state").textContent = ` · ${decision.state} by ${decision.by} in ${Math.round(decision.milliseconds)} ms` + (reason ? ` · ${reason}` : "");
  rows($("changes"), decision.changes.map(change => [change.name, change.before, change.after]));
  $("confirm").disabled = $("reject").disabled = decision.state !== "proposed";
  $("undo").disabled = decision.state !== "confirmed";
}

function rows(body, cells) {
  body.replaceChildren(...cells.map(values => {
    const row = document.createElement("tr");
    row.append(...values.map(value => Object.assign(document.createElement("td"), { textContent: value })));
    return row;
  }));
}

function written(entry) {
  const item = document.createElement("li"), told = entry.answer;
  item.value = entry.seq;
  const what = entry.kind === "events"
    ? Object.entries(told.events).map(([kind, count]) => (count > 1 ? `${count} × ${kind}` : kind)).join(", ")
    : entry.kind === "decision"
      ? `decision ${told.decision}: ${told.late ? "late" : told.changes.length ? `${told.changes.length} changes, ${told.state}` : "leave all"}`
      : `decision ${told.decision} ${told.state}`;
  item.textContent = `${what} → ${number(entry.objective)}`;
  return item;
}

const toggle = (source, target, down) => happen({ event: down ? "link-up" : "link-down", source, target });
const happen = event => tried(async () => { await ask("POST", path("/events"), { events: [event] }); await look(); });

// an example of the fields that an event needs, with names from the picture
function suggest() {
  const form = $("tell").elements, about = page.problems.find(one => one.name === page.live?.problem);
  const schema = about?.events.find(event => event.name === form.kind.value)?.json_schema;
  if (!schema) return;
  const { nodes = [], links = [], hosts = [], machines = [] } = page.live.picture;
  const ends = links.length ? [nodes[links[0].source].name, nodes[links[0].target].name] : [];
  const names = { source: ends[0], target: ends[1], node: ends[0], pm: hosts[0]?.name, vm: machines[0]?.name };
  if (form.kind.value === "vm") names.vm = `vm${machines.length + 1}`;
  const example = {};
  for (const name of schema.required.filter(one => one !== "event")) {
    const type = schema.properties[name].type;
    example[name] = type === "string" ? names[name] ?? "" : type === "array" ? [[...ends, 1]].filter(one => one.length > 2) : 1;
  }
  form.fields.value = JSON.stringify(example, null, 1);
  form.fields.rows = form.fields.value.split("\n").length;
}

async function made(form) {
  const live = await ask("POST", "/v1/instances", form);
  show(live.id);
  $("more").open = false;
  await list();
  await look();
}

const sample = (file, problem) => tried(async () => {
  const form = new FormData(), content = await (await fetch(`/page/samples/${file}`)).blob();
  form.append("file", content, file);
  form.append("problem", problem);
  await made(form);
});

function listen() {
  $("instances").addEventListener("change", event => { show(event.target.value); tried(look); });
  $("network").addEventListener("click", () => sample("germany14.txt", "ospf"));
  $("cloud").addEventListener("click", () => sample("cluster24.json", "placement"));
  $("upload").addEventListener("submit", event => {
    event.preventDefault();
    const form = new FormData(event.target);
    if (!form.get("demands").name) form.delete("demands");
    tried(() => made(form));
  });
  $("delete").addEventListener("click", () => tried(async () => { await ask("DELETE", path("")); await list(); await look(); }));
  $("access").addEventListener("submit", event => {
    event.preventDefault();
    page.token = event.target.elements.token.value;
    $("access").hidden = true;
    tried(begin);
  });
  $("ask").addEventListener("submit", event => {
    event.preventDefault();
    const given = event.target.elements, most = given.max_changes.value;
    const asked = { by: given.by.value, deadline_ms: Number(given.deadline_ms.value), max_changes: most === "" ? null : Number(most) };
    tried(async () => { await ask("POST", path("/decisions"), asked); await look(); });
  });
  for (const how of ["confirm", "reject", "undo"])
    $(how).addEventListener("click", () => tried(async () => { await ask("POST", path(`/decisions/${page.decision.decision}/${how}`), how === "confirm" ? {} : undefined); await look(); }));
  $("tell").elements.kind.addEventListener("change", suggest);
  $("tell").addEventListener("submit", event => {
    event.preventDefault();
    const given = event.target.elements;
    tried(async () => {
      const fields = JSON.parse(given.fields.value || "{}");
      await ask("POST", path("/events"), { events: [{ event: given.kind.value, ...fields }] });
      await look();
    });
  });
  addEventListener("resize", () => page.live && render());
}

async function begin() {
  const served = await ask("GET", "/v1/problems");
  page.problems = served.problems;
  const names = served.problems.map(one => one.name);
  options($("upload").elements.problem, names.map(name => [name, name]));
  options($("ask").elements.by, served.controllers.map(name => [name, name]), served.controllers.findLast(name => name !== "hold"));
  $("cloud").hidden = !names.includes("placement");
  $("network").hidden = !names.includes("ospf");
  await list();
  await look();
  page.begun = true;
}

listen();
await tried(begin);
let following = false;
setInterval(async () => {
  if (!page.begun || document.hidden || following) return;
  following = true;
  await list().then(look).catch(() => {});
  following = false;
}, EVERY);
