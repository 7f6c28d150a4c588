"""The trials of a search for hyper-parameters."""

from __future__ import annotations

from lagco.agents.bundle import load
from lagco.agents.config import train_config
from lagco.agents.training import train
from lagco.errors import LagcoError, UsageError
from lagco.evaluation import evaluate
from lagco.study.making import chosen, load_encoder
from lagco.study.scores import summary
from lagco.study.work import Context, Outcome


def try_out(context: Context) -> Outcome:
    """Do a `trial` task: train with the chosen parameters, test on the validation instances."""
    spec = context.spec
    data = context.ledger.data(context.task)
    try:
        agent = train(
            spec["problem"],
            chosen(data, spec["train"]),
            context.folder,
            config=train_config(**spec["config"]),
            encoder=load_encoder(context.ledger, spec["encoder"]),
            pad_to=data,
            report=context.report,
            keep_checkpoint=False,
        )
    except (UsageError, FloatingPointError, ValueError) as error:  # a choice that cannot work
        return {"value": None, "summary": None, "error": str(error)}, {}
    evaluation = evaluate(
        agent,
        chosen(data, spec["validation"]),
        episodes=spec["episodes"],
        problem=spec["problem"],
    )
    found = summary(evaluation)
    value = found["unseen"][spec["measure"]]["best"]
    return {"value": value, "summary": found, "error": None}, {}


def judge_best(context: Context) -> Outcome:
    """Do a `tune` task: the best trial, tested on the instances that no trial saw."""
    spec = context.spec
    known = [trial for trial in spec["trials"] if trial["value"] is not None]
    if not known:
        raise LagcoError(f"{context.task.name}: no trial worked; see the records of the trials")
    best = max(known, key=lambda trial: (trial["value"], -trial["number"]))
    trial = context.ledger.find("trial", best["key"])
    registered = None if ":" not in spec["problem"] else spec["problem"]
    agent = load(context.ledger.folder(trial), registered)
    data = context.ledger.data(context.task)
    evaluation = evaluate(
        agent, chosen(data, spec["test"]), episodes=spec["episodes"], problem=spec["problem"]
    )
    return {"trials": list(spec["trials"]), "best": {**best, "test": summary(evaluation)}}, {}
