"""The careful reader's transformer as it is tuned: layers in torch, made of the package's arrays, written as such."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn import functional

WEIGHTS = Path(__file__).parents[1] / "tools" / "reading" / "encoder.npz"
BATCH = 16
_HEADS = 12
_MATRICES, _NORMS = ("asked", "heard", "wide", "narrow"), ("heard", "narrow")
_NAMES = {
    "asked": [f"attention.self.{name}" for name in ("query", "key", "value")],
    "heard": ["attention.output.dense"],
    "wide": ["intermediate.dense"],
    "narrow": ["output.dense"],
    "heard.norm": ["attention.output.LayerNorm"],
    "narrow.norm": ["output.LayerNorm"],
}
"""What Hugging Face's `transformers` calls the parts of a layer of BERT."""

Stored = Mapping[str, Any]
"""Arrays as `encoder.npz` has them: a matrix `name`, its `name.scale` by row and its `name.bias`."""


class _Shown(Protocol):
    @property
    def pieces(self) -> list[int]: ...


class Seen(Protocol):
    """A case with the pieces that the encoder sees of it."""

    @property
    def shown(self) -> _Shown: ...


class Layer(nn.Module):  # type: ignore[misc]
    """A layer of the transformer, as `encoder.Encoder` runs it."""

    def __init__(self, stored: Stored, at: str) -> None:
        super().__init__()
        self.asked, self.heard, self.wide, self.narrow = (linear(stored, f"{at}.{name}") for name in _MATRICES)
        self.heard_norm, self.narrow_norm = (norm(stored, f"{at}.{name}.norm") for name in _NORMS)

    def forward(self, states: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
        """The states of the next layer; `held` tells which places are no padding."""
        count, length, width = states.shape
        query, key, value = self.asked(states).view(count, length, 3, _HEADS, width // _HEADS).permute(2, 0, 3, 1, 4)
        heard = functional.scaled_dot_product_attention(query, key, value, attn_mask=held[:, None, None, :])
        states = self.heard_norm(states + self.heard(heard.transpose(1, 2).reshape(count, length, width)))
        return self.narrow_norm(states + self.narrow(functional.gelu(self.wide(states), approximate="tanh")))

    def arrays(self, at: str) -> Iterator[tuple[str, Any]]:
        """The layer as the package stores it."""
        for name in _MATRICES:
            yield from arrays_of(f"{at}.{name}", getattr(self, name))
        for name in _NORMS:
            kept = getattr(self, f"{name}_norm")
            yield f"{at}.{name}.norm.weight", kept.weight.detach().numpy()
            yield f"{at}.{name}.norm.bias", kept.bias.detach().numpy()


def layers_of(stored: Stored) -> list[Layer]:
    """All layers that tell verdicts, the first one first."""
    return [Layer(stored, str(at)) for at in range(sum(n.endswith(".asked") and n[0].isdecimal() for n in stored))]


def linear(stored: Stored, name: str) -> nn.Linear:
    """A matrix with its bias."""
    weights = torch.tensor(stored[name].astype(np.float32) * stored[f"{name}.scale"])
    made = nn.Linear(weights.shape[1], weights.shape[0])
    made.weight.data, made.bias.data = weights, torch.tensor(stored[f"{name}.bias"].astype(np.float32))
    return made


def norm(stored: Stored, name: str) -> nn.LayerNorm:
    """A norm of a layer, or that of the embeddings."""
    weights = torch.tensor(stored[f"{name}.weight"].astype(np.float32))
    made = nn.LayerNorm(len(weights), eps=1e-12)
    made.weight.data, made.bias.data = weights, torch.tensor(stored[f"{name}.bias"].astype(np.float32))
    return made


def arrays_of(name: str, layer: nn.Linear) -> Iterator[tuple[str, Any]]:
    """A matrix as whole numbers of a byte and a scale for each row, and its bias."""
    yield from in_bytes(name, layer.weight.detach().numpy())
    yield f"{name}.bias", layer.bias.detach().numpy()


def in_bytes(name: str, weights: Any) -> Iterator[tuple[str, Any]]:
    """Numbers as whole numbers of a byte and a scale for each row."""
    scale = np.abs(weights).max(axis=1, keepdims=True) / 127 + 1e-12
    yield name, np.round(weights / scale).astype(np.int8)
    yield f"{name}.scale", scale.astype(np.float32)


def base_of(folder: Path) -> dict[str, Any]:
    """A BERT model as Hugging Face stores it, with the names that the package has for its parts and scales of 1."""
    held = {name.removeprefix("bert."): each.astype(np.float32) for name, each in _read(folder).items()}
    found: dict[str, Any] = {"words": held["embeddings.word_embeddings.weight"]}
    for end in ("weight", "bias"):
        found[f"norm.{end}"] = held[f"embeddings.LayerNorm.{end}"]
        for at in range(sum(name.endswith("intermediate.dense.bias") for name in held)):
            for name, parts in _NAMES.items():
                joined = np.concatenate([held[f"encoder.layer.{at}.{part}.{end}"] for part in parts])
                found[f"{at}.{name}" if joined.ndim == 2 else f"{at}.{name}.{end}"] = joined
    scales = {f"{name}.scale": np.ones((len(each), 1), np.float32) for name, each in found.items() if each.ndim == 2}
    kind = held["embeddings.token_type_embeddings.weight"][0]
    return {**found, **scales, "places": held["embeddings.position_embeddings.weight"] + kind}


def _read(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file  # noqa: PLC0415  the base alone needs it

    return dict(load_file(folder / "model.safetensors"))


class Below:
    """The states that the layers which stay give of each case, made once.

    Args:
        stored: the arrays of the embeddings.
        layers: those that stay; none where all are tuned.
        cases: what is seen.
    """

    def __init__(self, stored: Stored, layers: Sequence[Layer], cases: Sequence[Seen]) -> None:
        words = torch.tensor(stored["words"].astype(np.float32) * stored["words.scale"])
        places, first = torch.tensor(stored["places"].astype(np.float32)), norm(stored, "norm")
        self._states: dict[int, torch.Tensor] = {}
        order = sorted(range(len(cases)), key=lambda at: len(cases[at].shown.pieces))
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for batch in (order[at : at + 2 * BATCH] for at in range(0, len(order), 2 * BATCH)):
                pieces = nn.utils.rnn.pad_sequence([torch.tensor(cases[at].shown.pieces) for at in batch], True)
                states = first(words[pieces] + places[: pieces.shape[1]])
                for layer in layers:
                    states = layer(states, pieces > 0)
                for row, at in enumerate(batch):
                    self._states[at] = states[row, : len(cases[at].shown.pieces)].to(torch.bfloat16).clone()

    def of(self, batch: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """The states of a batch, and which places are no padding."""
        states = [self._states[at].float() for at in batch]
        held = nn.utils.rnn.pad_sequence([torch.ones(len(each), dtype=torch.bool) for each in states], True)
        return nn.utils.rnn.pad_sequence(states, True), held


def batches(cases: Sequence[Seen], which: Sequence[int], *, shuffled: bool) -> list[list[int]]:
    """Cases of about the same length together."""
    which = random.sample(which, len(which)) if shuffled else which
    chunks = [sorted(which[at : at + 20 * BATCH], key=lambda each: len(cases[each].shown.pieces))
              for at in range(0, len(which), 20 * BATCH)]  # fmt: skip
    found = [chunk[at : at + BATCH] for chunk in chunks for at in range(0, len(chunk), BATCH)]
    return random.sample(found, len(found)) if shuffled else found


def falling(steps: int, end: float) -> Callable[[int], float]:
    """The share of the rate at each step: up for a twentieth of the steps, then down to an end."""
    return lambda step: min((step + 1) / (0.05 * steps), end + (1 - end) * (steps - step) / (0.95 * steps))
