// Pictures of a live instance, and the curve of its objective, as SVG.

const NS = "http://www.w3.org/2000/svg";
const STOPS = [[127, 183, 190], [232, 197, 71], [209, 73, 91]];
const OVER = "#8d0f4e";

export function make(name, attributes = {}, text = null) {
  const found = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== null) found.textContent = text;
  return found;
}

// colour of a share of what there is, 0 to 1; beyond it another one
export function warmth(use) {
  if (use === null || use > 1) return OVER;
  const place = Math.max(0, use) * (STOPS.length - 1), at = Math.min(Math.floor(place), STOPS.length - 2);
  const mixed = STOPS[at].map((from, i) => Math.round(from + (place - at) * (STOPS[at + 1][i] - from)));
  return `rgb(${mixed})`;
}

export const percent = use => (use === null ? "∞" : `${(100 * use).toFixed(use < 0.1 ? 1 : 0)} %`);

// onLink is told the names of both ends and whether the link is down
export function drawPicture(svg, picture, marked, onLink) {
  const size = svg.getBoundingClientRect();
  const width = Math.max(280, size.width), height = Math.max(200, size.height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const parts = { network: drawNetwork, cloud: drawCloud }[picture.kind];
  svg.replaceChildren(...(parts ? parts(picture, marked, width, height, onLink) : []));
}

function drawNetwork(picture, marked, width, height, onLink) {
  const at = placed(picture.nodes, width, height), below = [], links = [], above = [];
  const named = picture.nodes.length <= 60;
  const ends = link => ({ x1: at[link.source].x, y1: at[link.source].y, x2: at[link.target].x, y2: at[link.target].y });
  const names = link => [picture.nodes[link.source].name, picture.nodes[link.target].name];
  for (const [list, down] of [[picture.down, true], [picture.links, false]]) {
    for (const link of list) {
      const [source, target] = names(link), place = ends(link);
      const use = down ? 0 : Math.max(...link.use.map(one => one ?? Infinity), 0);
      const line = make("line", down ? { ...place, class: "down" } : {
        ...place, class: "link", stroke: warmth(use), "stroke-width": 2 + 5 * Math.min(use, 1.2),
      });
      if (!down && marked.has(`${source}-${target}`))
        below.push(make("line", { ...place, class: "marked", "stroke-width": 18 }));
      const grip = make("line", { ...place, class: "grip" });
      const uses = down ? "down" : link.use.map(percent).join(" and ");
      grip.append(make("title", {}, `${source} – ${target}: ${uses}` + (link.label ? `, weight ${link.label}` : "")));
      grip.addEventListener("click", () => onLink(source, target, down));
      links.push(line);
      if (link.label && named)
        above.push(make("text", { class: "weight", x: (place.x1 + place.x2) / 2, y: (place.y1 + place.y2) / 2 }, link.label));
      above.push(grip);
    }
  }
  const nodes = picture.nodes.map((node, v) => {
    const dot = make("circle", { class: "node", cx: at[v].x, cy: at[v].y, r: named ? 5 : 3 });
    dot.append(make("title", {}, node.name));
    return dot;
  });
  const labels = named ? picture.nodes.map((node, v) => make("text", { class: "name", x: at[v].x, y: at[v].y - 9 }, node.name)) : [];
  return [...below, ...links, ...nodes, ...labels, ...above];
}

function placed(nodes, width, height) {
  const xs = nodes.map(node => node.x), ys = nodes.map(node => node.y);
  const scale = (all, room) => {
    const low = Math.min(...all), span = Math.max(...all) - low || 1;
    return value => 34 + (room - 68) * (value - low) / span;
  };
  const x = scale(xs, width), y = scale(ys, height);
  return nodes.map(node => ({ x: x(node.x), y: y(node.y) }));
}

function drawCloud(picture, marked, width, height) {
  const count = picture.hosts.length, columns = Math.max(1, Math.ceil(Math.sqrt(count * width / height)));
  const rows = Math.ceil(count / columns), wide = width / columns, high = height / rows;
  const machines = picture.hosts.map(() => []);
  for (const machine of picture.machines) machines[machine.host].push(machine);
  return picture.hosts.flatMap((host, p) => {
    const x = wide * (p % columns) + 3, y = high * Math.floor(p / columns) + 3, w = wide - 6, h = high - 6;
    const found = [make("rect", { class: "host", x, y, width: w, height: h, rx: 4 })];
    const full = Math.max(...host.use.map(one => one ?? Infinity));
    const bar = make("rect", { x: x + 4, y: y + 4, width: Math.max(0, (w - 8) * Math.min(full, 1)), height: 6, rx: 2, fill: warmth(full) });
    bar.append(make("title", {}, `${host.name}: ${host.use.map(percent).join(", ")}`));
    found.push(bar);
    if (w > 50 && h > 30) found.push(make("text", { class: "tick", x: x + 4, y: y + 22 }, host.name));
    const side = Math.max(3, Math.min(34, 0.85 * Math.sqrt((w - 8) * Math.max(8, h - 30) / (machines[p].length + 1)) - 2));
    const across = Math.max(1, Math.floor((w - 8) / (side + 2)));
    machines[p].forEach((machine, i) => {
      const box = make("rect", {
        x: x + 4 + (i % across) * (side + 2), y: y + 27 + Math.floor(i / across) * (side + 2), width: side, height: side, rx: 2,
        fill: `hsl(${(machine.tenant * 47) % 360} 45% 55%)`, stroke: marked.has(machine.name) ? "var(--mark)" : "none", "stroke-width": 2,
      });
      box.append(make("title", {}, machine.name));
      found.push(box);
    });
    return found;
  });
}

// entries: [{at, objective, kind}], oldest first
export function drawChart(svg, entries) {
  const size = svg.getBoundingClientRect(), width = Math.max(280, size.width), height = Math.max(120, size.height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const known = entries.filter(entry => entry.objective !== null);
  if (!known.length) return svg.replaceChildren();
  const values = known.map(entry => entry.objective), low = Math.min(...values), high = Math.max(...values);
  const spare = (high - low || Math.abs(high) || 1) * 0.08, bottom = low - spare, top = high + spare;
  const first = known[0].at, last = known[known.length - 1].at;
  const x = at => 46 + (width - 56) * (last > first ? (at - first) / (last - first) : 0);
  const y = value => 8 + (height - 30) * (top - value) / (top - bottom);
  let path = `M${x(first)},${y(values[0])}`;
  for (const entry of known.slice(1)) path += `H${x(entry.at)}V${y(entry.objective)}`;
  const marks = known.filter(entry => ["confirm", "undo", "decision"].includes(entry.kind) && entry.version !== null)
    .map(entry => make("circle", { class: "put", cx: x(entry.at), cy: y(entry.objective), r: 3.5 }));
  const ticks = [low, high].filter((value, i, all) => all.indexOf(value) === i).flatMap(value => [
    make("line", { class: "axis", x1: 46, x2: width - 8, y1: y(value), y2: y(value) }),
    make("text", { class: "tick", x: 4, y: y(value) + 3 }, value.toPrecision(4)),
  ]);
  const time = at => new Date(1000 * at).toLocaleTimeString();
  const words = [make("text", { class: "tick", x: 46, y: height - 4 }, time(first)),
    make("text", { class: "tick", x: width - 8, y: height - 4, "text-anchor": "end" }, time(last))];
  svg.replaceChildren(...ticks, make("path", { class: "curve", d: path }), ...marks, ...words);
}
