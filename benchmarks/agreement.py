"""How far two readers agree on the triples that both labelled: Cohen's kappa for each field.

Run `python -m benchmarks.agreement`.
"""

from collections import Counter, defaultdict

from benchmarks.labels import Label, labels


def kappa(pairs: list[tuple[str, str]]) -> float:
    """Agreement beyond chance: 1 is full, 0 is chance."""
    same = sum(first == second for first, second in pairs) / len(pairs)
    left, right = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(left[name] * right[name] for name in left) / len(pairs) ** 2
    return (same - chance) / (1 - chance) if chance < 1 else 1.0


def main() -> None:
    """Print a line for each field."""
    found: dict[tuple[str, str, str], list[Label]] = defaultdict(list)
    for label in labels():
        found[label.triple].append(label)
    doubles = [each[:2] for each in found.values() if len({label.who for label in each}) > 1]
    print(f"{len(found)} triples, {len(doubles)} of them read by two")
    for field in ("verdict", "role", "match", "kind", "effect", "comparator", "design", "n"):
        pairs = [(str(getattr(first, field)), str(getattr(second, field))) for first, second in doubles]
        same = sum(first == second for first, second in pairs) / len(pairs)
        print(f"{field:<10} same {same:6.1%}  kappa {kappa(pairs):.2f}")


if __name__ == "__main__":
    main()
