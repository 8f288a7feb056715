"""The reader's network in torch: a transformer that reads a record once, and heads for what is asked of it.

A drug in a condition is asked for with the means of their mentions. This query attends over the record, and over its
sentences with three heads, of which the first is taught the sentence that carries the verdict.
"""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from willowbark.tools.reading.cut import CONDITION_FLAGS, DRUGS, PAIR_FLAGS, SENTENCE_FLAGS, Sign
from willowbark.tools.reading.fields import CONDITION_ROLES, FIELDS, PURPOSES

WIDTH = 384
LAYERS = 6
ATTENDING = 12
POINTERS = 3
LOOKS = 8
"""Heads with which a query attends over a record."""
NARROW = 192
"""Width of the hidden layer of the heads for conditions."""
BLOCKED = -30000.0
_ZONE_WORDS = ("title", "aim", "background", "methods", "results", "conclusion")


class Answers(NamedTuple):
    """Scores before softmax."""

    fields: dict[str, Tensor]
    """By field: pairs × values."""
    pointed: Tensor
    """Pairs × sentences: which one carries the verdict."""
    by_sentence: dict[str, Tensor]
    """`effect` and `comparator` by the sentence alone: pairs × sentences × values."""
    roles: Tensor
    """Conditions × roles."""
    purposes: Tensor
    """Records × sentences × purposes."""


def attend(query: Tensor, key: Tensor, value: Tensor, blocked: Tensor) -> Tensor:
    """Attend by plain matrix products: on a CPU the backward pass of torch's own function takes three times as long."""
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5) + blocked
    return scores.softmax(-1).to(value.dtype) @ value


class Layer(nn.Module):  # type: ignore[misc]
    """A layer of BERT."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.out_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)
        self.narrow_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, blocked: Tensor) -> Tensor:
        count, length, _ = states.shape
        parts = self.query_key_value(states).view(count, length, 3, ATTENDING, WIDTH // ATTENDING)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = attend(query, key, value, blocked)
        joined = seen.transpose(1, 2).reshape(count, length, WIDTH)
        states = self.out_norm(states + self.dropout(self.out(joined)))
        return self.narrow_norm(states + self.dropout(self.narrow(functional.gelu(self.wide(states)))))


class Encoder(nn.Module):  # type: ignore[misc]
    """The transformer: word embeddings stay as the base model has them, signs have a table of their own."""

    def __init__(self, words: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, WIDTH)
        self.words.weight.requires_grad_(False)
        self.signs = nn.Embedding(Sign.COUNT, WIDTH)
        self.places = nn.Embedding(512, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList([Layer(dropout) for _ in range(LAYERS)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, pieces: Tensor, present: Tensor) -> Tensor:
        is_sign = (pieces < Sign.COUNT)[..., None]
        words = torch.where(is_sign, self.signs(pieces.clamp(max=Sign.COUNT - 1)), self.words(pieces))
        places = self.places(torch.arange(pieces.shape[1]))[None]
        states = self.dropout(self.norm(words + places))
        kind = torch.bfloat16 if torch.is_autocast_enabled("cpu") else torch.float32
        blocked = torch.zeros(present.shape, dtype=kind).masked_fill(~present, BLOCKED)[:, None, None, :]
        for layer in self.layers:
            states = layer(states, blocked)
        return states.float()


class Network(nn.Module):  # type: ignore[misc]
    """The whole reader.

    Args:
        words: size of the vocabulary.
        dropout: in the transformer.
        head_dropout: in the heads.
    """

    def __init__(self, words: int, dropout: float = 0.0, head_dropout: float = 0.2) -> None:
        super().__init__()
        self.encoder = Encoder(words, dropout)
        self.ask = nn.Linear(4 * WIDTH + PAIR_FLAGS, WIDTH)
        self.look = nn.Linear(WIDTH, WIDTH)
        self.keys_values = nn.Linear(WIDTH, 2 * WIDTH)
        self.sentence = nn.Linear(3 * WIDTH + SENTENCE_FLAGS, WIDTH)
        self.sentence_ask = nn.Linear(WIDTH, WIDTH)
        self.point = nn.Linear(WIDTH, POINTERS)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.tell = nn.ModuleDict({name: nn.Linear(WIDTH, len(FIELDS[name])) for name in ("effect", "comparator")})
        joined = (5 + POINTERS) * WIDTH + PAIR_FLAGS + 1
        self.norm = nn.LayerNorm(joined)
        self.hidden = nn.Linear(joined, WIDTH)
        self.dropout = nn.Dropout(head_dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(WIDTH, len(values)) for name, values in FIELDS.items()})
        question = 3 * WIDTH + CONDITION_FLAGS
        self.condition_ask = nn.Linear(question, WIDTH)
        self.condition_norm = nn.LayerNorm(question + WIDTH)
        self.condition_hidden = nn.Linear(question + WIDTH, NARROW)
        self.condition_role = nn.Linear(NARROW, len(CONDITION_ROLES))
        self.purpose = nn.Linear(WIDTH, len(PURPOSES))

    def forward(self, batch: Any) -> Answers:
        """Read a batch (`batches.Batch`)."""
        states = self.encoder(batch.pieces, batch.present)
        names = self.encoder(batch.names, batch.names_present)
        weights = batch.names_present[..., None].float()
        names = (names * weights).sum(1) / weights.sum(1)
        count, length, _ = states.shape
        flat = states.reshape(count * length, WIDTH)
        keys, values = self.keys_values(states).view(count, length, 2, LOOKS, WIDTH // LOOKS).permute(2, 0, 3, 1, 4)
        blocked = torch.zeros(batch.present.shape).masked_fill(~batch.present, BLOCKED)[:, None, None, :]

        def look(query: Tensor, records: Tensor) -> Tensor:
            question = self.look(query).view(-1, LOOKS, 1, WIDTH // LOOKS)
            seen = attend(question, keys[records], values[records], blocked[records].to(question.dtype))
            return seen.reshape(len(records), WIDTH).float()

        zones = flat[batch.sentence_at]  # records × sentences
        purposes = self.purpose(zones).float()
        condition = batch.condition_mean @ flat
        question = torch.cat([condition, names[batch.condition_name], states[:, 0][batch.condition_record],
                           batch.condition_flags], -1)  # fmt: skip
        query = functional.gelu(self.condition_ask(question), approximate="tanh")
        joined = self.condition_norm(torch.cat([question, look(query, batch.condition_record)], -1))
        hidden = functional.gelu(self.condition_hidden(self.dropout(joined)), approximate="tanh")
        roles = self.condition_role(self.dropout(hidden)).float()

        means = [batch.drug_mean @ flat, batch.pair_mean @ flat, names[batch.pair_name], states[:, 0][batch.record]]
        query = functional.gelu(self.ask(torch.cat([*means, batch.flags], -1)), approximate="tanh")
        seen = look(query, batch.record)
        shape = (len(batch.record), zones.shape[1], WIDTH)
        sentences = torch.cat(
            [
                zones[batch.record],
                (batch.sentence_drug @ flat).view(shape),
                (batch.sentence_condition @ flat).view(shape),
                batch.sentence_flags,
            ],
            -1,
        )
        sentences = functional.gelu(self.sentence(sentences) + self.sentence_ask(query)[:, None, :], approximate="tanh")
        is_present = batch.sentence_present[batch.record]
        scores = self.point(sentences).float().masked_fill(~is_present[..., None], BLOCKED)
        pooled = torch.einsum("psk,psw->pkw", scores.softmax(1), self.value(sentences).float())
        counted = is_present.sum(1, keepdim=True) / 20
        joined = torch.cat([*means, seen, pooled.reshape(len(batch.record), -1), batch.flags, counted], -1)
        hidden = functional.gelu(self.hidden(self.dropout(self.norm(joined))), approximate="tanh")
        hidden = self.dropout(hidden)
        fields = {name: head(hidden).float() for name, head in self.heads.items()}
        by_sentence = {name: head(sentences).float() for name, head in self.tell.items()}
        return Answers(fields, scores[..., 0], by_sentence, roles, purposes)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a file of safetensors (https://github.com/huggingface/safetensors): a header in JSON, then the numbers."""
    with path.open("rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        raw = file.read()
    tensors = {}
    for name, part in header.items():
        if name != "__metadata__" and part["dtype"] == "F32":
            first, last = part["data_offsets"]
            array = np.frombuffer(raw[first:last], np.float32).reshape(part["shape"])
            tensors[name.removeprefix("bert.")] = torch.from_numpy(array.copy())
    return tensors


def load_base(network: Network, folder: Path, pieces: Sequence[int], vocabulary: Sequence[str]) -> None:
    """Start a network from a model of BERT's kind; `pieces` are the pieces of its vocabulary that stay."""
    base = read_tensors(folder / "model.safetensors")
    encoder = network.encoder
    words = base["embeddings.word_embeddings.weight"][torch.tensor(pieces)]
    with torch.no_grad():
        encoder.words.weight.copy_(words)
        kind = base["embeddings.token_type_embeddings.weight"][0]
        encoder.places.weight.copy_(base["embeddings.position_embeddings.weight"] + kind)
        _copy(encoder.norm, base, "embeddings.LayerNorm")
        for at, layer in enumerate(encoder.layers):
            own = f"encoder.layer.{at}"
            for end in ("weight", "bias"):
                parts = [base[f"{own}.attention.self.{name}.{end}"] for name in ("query", "key", "value")]
                getattr(layer.query_key_value, end).copy_(torch.cat(parts))
            _copy(layer.out, base, f"{own}.attention.output.dense")
            _copy(layer.out_norm, base, f"{own}.attention.output.LayerNorm")
            _copy(layer.wide, base, f"{own}.intermediate.dense")
            _copy(layer.narrow, base, f"{own}.output.dense")
            _copy(layer.narrow_norm, base, f"{own}.output.LayerNorm")
        _start_signs(encoder, words, vocabulary)


def _copy(module: Any, base: dict[str, Tensor], name: str) -> None:
    module.weight.copy_(base[f"{name}.weight"])
    module.bias.copy_(base[f"{name}.bias"])


def _start_signs(encoder: Encoder, words: Tensor, vocabulary: Sequence[str]) -> None:
    """Start the signs from words that mean about what they stand for; others near the mean."""
    at = {name: place for place, name in enumerate(vocabulary)}
    signs = encoder.signs.weight
    signs.copy_(words.mean(0) + 0.2 * words.std(0) * torch.randn(Sign.COUNT, WIDTH))
    for drug in range(DRUGS):
        letter = words[at[chr(ord("a") + drug % 26)]]
        signs[Sign.DRUG + drug] = 0.7 * words[at["drug"]] + 0.5 * letter + 0.02 * torch.randn(WIDTH)
    signs[Sign.MORE_DRUGS] = words[at["drug"]]
    signs[Sign.CLASS] = words[at["drugs"]]
    signs[Sign.CONDITION] = words[at["disease"]]
    for zone, word in enumerate(_ZONE_WORDS):
        signs[Sign.ZONE + zone] = words[at[word]]
    signs[6] = words[at["significant"]]  # P<
    signs[7] = 0.5 * (words[at["not"]] + words[at["significant"]])  # P>
