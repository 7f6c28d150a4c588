"""Reads the tables of the paper out of its LaTeX source, for comparison with the data we ship."""

from __future__ import annotations

import re

PROBLEMS = {
    "TSP": "tsp",
    "MinVertex": "min-vertex",
    "MaxCut": "max-cut",
    "Placement": "placement",
    "Cyber-Path": "cyber-path",
    "OSPF": "ospf",
    "Traffic": "traffic",
}
METHODS = {
    "P-Discrete": "p-discrete",
    "P-Discrete-M": "p-discrete-m",
    "G-Discrete": "g-discrete",
    "G-Discrete-M": "g-discrete-m",
    "Iterative": "iterative",
    "Projection (ours)": "projection",
}
STRATEGIES = {"S": "small", "M": "medium", "L": "large", "V": "varied"}
_NUMBER = r"-?\d+(?:\.\d+)?"


def _table(tex, label):
    """The table around a label, up to the environment's begin."""
    end = tex.index(rf"\label{{{label}}}")
    starts = [m.start() for m in re.finditer(r"\\begin\{(?:wrap)?table", tex[:end])]
    return tex[starts[-1] : end]


def _rows(text):
    for line in text.replace("\n&", " &").split("\\\\"):
        yield [cell.strip() for cell in line.split("&")]


def _plain(cell):
    return float(re.findall(rf"[+-]?{_NUMBER[2:]}", re.sub(r"\\bestblock|\\textbf", "", cell))[0])


def generalization(tex):
    """{problem: {method: {strategy: iqm, "delta": …}}}"""
    found = {name: {} for name in PROBLEMS.values()}
    for block in _table(tex, "tab:generalization_light").split(r"\begin{tabular}")[1:]:
        header = re.findall(r"\\multicolumn\{5\}\{[^}]*\}\{([^}]*)\}", block)
        for cells in _rows(block):
            method = METHODS.get(cells[0].split("\n")[-1].strip())
            if method is None:
                continue
            for number, title in enumerate(header):
                values = [_plain(cell) for cell in cells[1 + 5 * number : 6 + 5 * number]]
                keys = (*STRATEGIES.values(), "delta")
                found[PROBLEMS[title]][method] = dict(zip(keys, values, strict=True))
    return found


def extended(tex):
    """{problem: {method: {strategy: {mean, low, high, iqm, interval, normal, p}}}}"""
    found = {name: {method: {} for method in METHODS.values()} for name in PROBLEMS.values()}
    problem = strategy = None
    for number in range(1, 5):
        for cells in _rows(_table(tex, f"tab:generalization_extended{number}")):
            title = re.search(r"\\multicolumn\{8\}\{c\}\{\\textbf\{([^}]*)\}\}", cells[0])
            problem = PROBLEMS[title[1]] if title else problem
            regime = re.search(r"\\multirow\{5\}\{\*\}\{(\w)\}", cells[0])
            strategy = STRATEGIES[regime[1]] if regime else strategy
            metric = re.search(r"\\textit\{(\w+)\}", cells[1]) if len(cells) == 8 else None
            if metric is None:
                continue
            for method, cell in zip(METHODS.values(), cells[2:], strict=True):
                entry = found[problem][method].setdefault(strategy, {})
                entry |= _EXTENDED[metric[1]](cell)
    return found


def _spread(cell):
    low, high = cell.split("/")
    return {"low": -float(low.replace("--", "+")), "high": float(high.removeprefix("+"))}


_EXTENDED = {
    "Mean": lambda cell: {"mean": _plain(cell)},
    "Std": _spread,
    "IQM": lambda cell: {"iqm": _plain(cell)},
    "BCI": lambda cell: {"interval": [float(v) for v in re.findall(_NUMBER, cell)]},
    "Normal": lambda cell: {
        "normal": "checkmark" in cell,
        "p": float(re.search(r"p=([\d.]+)", cell)[1]),
    },
}


def scaling(tex):
    """{problem: {method: {alpha, r2}}}"""
    found = {}
    for cells in _rows(_table(tex, "tab:action_time_scaling")):
        problem = PROBLEMS.get(cells[0].split("\n")[-1].strip())
        if problem is not None:
            numbers = [float(re.findall(_NUMBER, cell)[0]) for cell in cells[1:] if cell]
            found[problem] = {
                "projection": {"alpha": numbers[0], "r2": numbers[1]},
                "iterative": {"alpha": numbers[2], "r2": numbers[3]},
            }
    return found


def training_time(tex):
    """{method: seconds of five runs}, all on traffic with the strategy varied."""
    found = {}
    for cells in _rows(_table(tex, "tab:full_time")):
        name = cells[0].split("\n")[-1].strip().lower()
        if name in METHODS.values():
            found[name] = [float(cell) for cell in cells[1:6]]
    return {"problem": "traffic", "strategy": "varied", "seconds": found}


_COLUMNS = (
    "learning_rate",
    "batch_size",
    "gamma",
    "n_steps",
    "entropy",
    "max_grad_norm",
    "tau",
    "target_every",
    "layers",
    "hidden_channels",
    "out_channels",
    "activation",
)
_SPACES = {
    "Discrete PPO": "discrete",
    "Projection PPO": "projection",
    "Iterative IDQN": "iterative",
    "GAE": "gae",
}


def search_spaces(tex):
    """{space: {parameter: {choices, best}}}, with the paper's column names."""
    start = tex.index(r"\section{Hyper-parameter optimization}")
    block = tex[start : tex.index(r"\label{tab:hyperopt_updated}")]
    found = {}
    for cells in _rows(block):
        title = re.search(r"\\textbf\{([^}]*)\}$", cells[0])
        if title is None or title[1] not in _SPACES:
            continue
        domains = found.setdefault(_SPACES[title[1]], {})
        for name, cell in zip(_COLUMNS, cells[1:], strict=True):
            if cell != "--":
                choices = [_choice(part) for part in cell.split(",")]
                best = next(_choice(part) for part in cell.split(",") if "textbf" in part)
                domains[name] = {"choices": choices, "best": best}
    return found


def _choice(part):
    text = part.replace(r"\textbf{", "").replace("}", "").strip()
    names = {"null": "none", "ReLU": "relu", "LeakyReLU": "leaky_relu"}
    if text in names:
        return names[text]
    return float(text) if "." in text else int(text)


def all_tables(tex):
    return {
        "generalization": generalization(tex),
        "extended": extended(tex),
        "scaling": scaling(tex),
        "training_time": training_time(tex),
        "search_spaces": search_spaces(tex),
    }
