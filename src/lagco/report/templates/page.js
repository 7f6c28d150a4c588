"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const hidden = new Set();  // methods that the reader has switched off
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // -- figures: drawn one after the other as soon as the page is there, all of them before printing
  const CONFIG = {
    responsive: true, displaylogo: false, showTips: false,
    modeBarButtons: [["resetScale2d"]],
  };
  const touch = matchMedia("(pointer: coarse)").matches;

  const themed = () => {
    const ink = colour("--ink"), muted = colour("--muted"), hair = colour("--hair");
    const axis = {
      gridcolor: hair, zerolinecolor: colour("--line"), linecolor: colour("--line"),
      tickcolor: colour("--line"), automargin: true, ticks: "outside", ticklen: 4,
      tickfont: {size: 11, color: muted}, title: {font: {size: 12, color: muted}, standoff: 8},
    };
    return {
      axis,
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
        font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: ink},
        margin: {l: 44, r: 14, t: 8, b: 36}, hovermode: "closest", dragmode: touch ? false : "zoom",
        hoverlabel: {font: {size: 12}, namelength: -1},
        modebar: {bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: ink},
      },
    };
  };
  const merged = (base, over) => {
    const found = {...base};
    for (const [key, value] of Object.entries(over)) {
      const nested = value && typeof value === "object" && !Array.isArray(value);
      found[key] = nested && base[key] ? merged(base[key], value) : value;
    }
    return found;
  };
  const layoutOf = (figure) => {
    const theme = themed();
    const layout = merged(theme.layout, figure.layout);
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis/.test(key)) layout[key] = merged(theme.axis, layout[key]);
    }
    return layout;
  };
  let data = null;  // figures and files, once they are unpacked
  const read = (place) => data.figures[place.id];
  const draw = (place) => {
    if (!data || place.drawn) return;
    place.drawn = true;
    const figure = read(place);
    const traces = figure.data.map((trace) => ({...trace, visible: !hidden.has(trace.meta)}));
    Plotly.newPlot(place, traces, layoutOf(figure), CONFIG);
  };
  const plots = all(".plot");
  const visible = (place) => place.offsetParent !== null;
  const drawNext = () => {  // the page stays alive between two figures
    const next = plots.find((place) => visible(place) && !place.drawn);
    if (!next || !data) return;
    draw(next);
    setTimeout(drawNext);
  };
  const unpacked = async (name) => {
    const text = atob(document.getElementById(`packed-${name}`).textContent);
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).text();
  };
  const start = async () => {
    const [plotly, packed] = await Promise.all(["plotly", "data"].map(unpacked));
    document.head.append(Object.assign(document.createElement("script"), {textContent: plotly}));
    data = JSON.parse(packed);
    window.drawAll = () => plots.filter(visible).forEach(draw);
    drawNext();
  };
  start().catch((error) => plots.forEach(
    (place) => { place.textContent = `This browser cannot show figures (${error.message}).`; }));

  // -- downloads: the figure as it is drawn, and the numbers behind it
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const plain = (text) => new DOMParser().parseFromString(text ?? "", "text/html").body.textContent;
  const numbersOf = (figure) => {
    const names = ["x", "y", "z", "lowerfence", "q1", "median", "q3", "upperfence"];
    const used = names.filter((name) => figure.data.some((trace) => Array.isArray(trace[name])));
    const rows = [["series", ...used]];
    for (const trace of figure.data) {
      const length = Math.max(...used.map((name) => (trace[name] || []).length));
      for (let i = 0; i < length; i++) {
        if (Array.isArray((trace.z || [])[i])) {
          trace.z[i].forEach((z, j) => rows.push(
            [plain(trace.name), ...used.map((n) => n === "z" ? z : n === "x" ? plain(trace.x[j]) : plain(trace.y[i]))]));
        } else rows.push([plain(trace.name), ...used.map((name) => (trace[name] || [])[i])]);
      }
    }
    return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  };
  const fileName = (place) =>
    (place.getAttribute("aria-label") + "-" + place.id).toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const save = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type: "text/plain"}));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  for (const button of all("[data-save]")) {
    button.addEventListener("click", () => {
      if (!data) return;
      const place = button.closest(".part").querySelector(".plot");
      if (button.dataset.save === "svg") {
        draw(place);
        Plotly.downloadImage(place, {format: "svg", filename: fileName(place),
          width: place.clientWidth, height: place.clientHeight});
        return;
      }
      save(`${fileName(place)}.csv`, numbersOf(read(place)));
    });
  }
  for (const button of all("[data-file]")) {
    button.addEventListener("click", () => {
      if (data) save(button.dataset.file, data.files[button.dataset.file]);
    });
  }

  const restyle = () => plots.filter((p) => p.drawn).forEach(
    (place) => Plotly.relayout(place, layoutOf(read(place))));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);

  // paper is white and two figures wide
  const PRINTED = {autosize: false, width: 325, height: 205};
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("printing");
    all(".reading").forEach((note) => { note.dataset.was = note.open; note.open = true; });
    plots.filter(visible).forEach(draw);
    plots.filter((p) => p.drawn && visible(p)).forEach(
      (place) => Plotly.relayout(place, {...layoutOf(read(place)), ...PRINTED}));
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    all(".reading").forEach((note) => { note.open = note.dataset.was === "true"; });
    plots.filter((p) => p.drawn).forEach((place) => Plotly.relayout(
      place, {...layoutOf(read(place)), autosize: true, width: null, height: null}));
  });

  // -- legends
  for (const button of all(".legend button")) {
    button.addEventListener("click", () => {
      const method = button.dataset.method;
      hidden.has(method) ? hidden.delete(method) : hidden.add(method);
      all(".legend button").filter((b) => b.dataset.method === method)
        .forEach((b) => b.setAttribute("aria-pressed", String(!hidden.has(method))));
      for (const place of plots.filter((p) => p.drawn)) {
        const places = read(place).data.flatMap((t, i) => t.meta === method ? [i] : []);
        if (places.length) Plotly.restyle(place, {visible: !hidden.has(method)}, places);
      }
    });
  }

  // -- choices
  for (const chooser of all(".switch")) {
    const form = chooser.querySelector(":scope > form");
    form.reset();
    form.addEventListener("change", () => {
      const chosen = all("input:checked", form).map((input) => input.value).join(" ");
      for (const variant of all(":scope > [data-variant]", chooser)) {
        variant.hidden = variant.dataset.variant !== chosen;
        if (!variant.hidden) drawNext();
      }
    });
  }

  // -- tables: a click on a heading sorts
  const key = (row, place) => {
    const cell = row.cells[place], number = cell.dataset.v;
    return number === undefined ? cell.textContent : Number(number);
  };
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;  // dashes come last
    return a.localeCompare(b);
  };
  for (const heading of all("thead tr:last-child th")) {
    heading.addEventListener("click", () => {
      const body = heading.closest("table").tBodies[0];
      const down = heading.getAttribute("aria-sort") === "descending";
      const number = heading.classList.contains("n");
      const rising = heading.hasAttribute("aria-sort") ? down : !number;  // numbers: largest first
      all("th", heading.parentElement).forEach((th) => th.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const place = heading.cellIndex, sign = rising ? 1 : -1;
      [...body.rows].sort((a, b) => {
        const x = key(a, place), y = key(b, place);
        return typeof x === typeof y ? sign * order(x, y) : order(x, y);
      }).forEach((row) => body.append(row));
    });
  }

  // -- episodes
  for (const film of all(".film")) {
    const frames = all("figure", film), slider = film.querySelector("input");
    if (slider) slider.addEventListener("input", () => {
      frames.forEach((frame, i) => frame.classList.toggle("shown", i === Number(slider.value)));
    });
  }

  // -- contents: folded on a phone, and where the reader is
  const contents = document.querySelector("nav details");
  if (matchMedia("(max-width: 40rem)").matches) contents.open = false;
  const links = new Map(all("nav a").map((a) => [a.getAttribute("href").slice(1), a]));
  const spy = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((a) => a.classList.remove("here"));
      links.get(entry.target.id)?.classList.add("here");
    }
  }, {rootMargin: "-10% 0px -80% 0px"});
  all("main > section").forEach((section) => spy.observe(section));
})();
