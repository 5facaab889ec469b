"""A /rerank route that answers as a test tells it to, and a tiny real cross-encoder on disk."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.servers import Reply, Request

Scorer = Callable[[str], float]


def route(score: Scorer, *, shape: str = "results") -> Callable[[Request], Reply]:
    """Scores each text that is asked about, best first, in one of the two usual shapes."""

    def answer(request: Request) -> Reply:
        scored = [(index, score(text)) for index, text in enumerate(sent(request))]
        scored.sort(key=lambda pair: -pair[1])
        return Reply(json.dumps(shaped(scored, shape)).encode())

    return answer


def shaped(scored: Sequence[tuple[int, object]], shape: str = "results") -> object:
    if shape == "results":
        rows = [{"index": index, "relevance_score": score} for index, score in scored]
        return {"id": "1", "results": rows}
    return [{"index": index, "score": score} for index, score in scored]


def sent(request: Request) -> list[str]:
    """The texts of one request."""
    body = json.loads(request.body)
    texts: list[str] = body["texts"] if "texts" in body else body["documents"]
    return texts


def write_cross_encoder(folder: Path, worth: Mapping[str, int], file: str = "model.onnx") -> None:
    """A model for onnxruntime: a pair scores the sum of what the words of its text are worth."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[SEP]": 2, **worth}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A:0 [SEP]:0 $B:1", special_tokens=[("[SEP]", 2)]
    )
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"model_max_length": 64, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (folder / "special_tokens_map.json").write_text("{}")
    (folder / file).write_bytes(_summing_model())


def _summing_model() -> bytes:
    """ONNX, written out: reduce_sum(cast(input_ids * token_type_ids)) over the words of a pair."""
    nodes = [
        _node("Mul", ["input_ids", "token_type_ids"], "of_text"),
        _node("Cast", ["of_text"], "numbers", _text(1, "to") + _number(3, 1) + _number(20, 2)),
        _node("ReduceSum", ["numbers", "axes"], "logits"),
    ]
    axes = _number(1, 1) + _number(2, 7) + _number(7, 1) + _text(8, "axes")  # [1], of int64
    inputs = [_value("input_ids", 7), _value("token_type_ids", 7)]
    graph = b"".join(_bytes(1, node) for node in nodes) + _text(2, "sum") + _bytes(5, axes)
    graph += b"".join(_bytes(11, each) for each in inputs) + _bytes(12, _value("logits", 1))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _node(kind: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> bytes:
    named = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, kind)
    return named + (_bytes(5, attribute) if attribute else b"")


def _value(name: str, kind: int) -> bytes:
    shape = b"".join(_bytes(1, _text(2, size)) for size in ("pairs", "words"))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low]) if not rest else bytes([low | 0x80]) + _varint(rest)
