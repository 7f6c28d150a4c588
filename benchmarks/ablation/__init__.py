"""What learning adds: agents beside the same ones with parts taken away, and beside plain rules.

    python -m benchmarks.ablation agents --work runs/ablation [--problems tsp,ospf]
    python -m benchmarks.ablation sizes --work runs/ablation
    python -m benchmarks.ablation live --work runs/ablation
    python -m benchmarks.ablation features --work runs/ablation
    python -m benchmarks.ablation encodings --work runs/ablation
    python -m benchmarks.ablation publish

`agents` are those that come with lagco, `sizes` compares linear rankers with them on larger
instances, `live` are the live agents, `features` trains `soft-projection`
by reinforcement alone without groups of features, `encodings` compares encoders and decoders.
Records go to benchmarks/results/ablation.json and encodings.json, one after the other; what is
there is not done again, so every command can be stopped and given again. `publish` fills
docs/results/ablation.md, and README.md where it has the marks.
"""
