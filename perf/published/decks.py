"""Decks of published runs, for the planner: sizes and layout of a row as the keys of a deck."""


def chunk_layers(layers, stages, chunks):
    """Layers of each chunk of each stage.

    Megatron-LM counts the embedding and the head as a layer each if the layers do not divide evenly (126 layers in 64 chunks).
    If a chunk would then be without layers, which a deck does not accept, each stage has one chunk less. Other remainders are spread
    over the stages.
    """
    if layers % (stages * chunks) == 0:
        return [[layers // (stages * chunks)] * chunks for _ in range(stages)]
    if (layers + 2) % stages:
        return [[layers * (stage + 1) // stages - layers * stage // stages] for stage in range(stages)]
    size, rest = divmod(layers + 2, stages * chunks)
    if rest == 0 and size > 1:
        table = [[size] * chunks for _ in range(stages)]
        table[0][0] -= 1
        table[-1][-1] -= 1
        return table
    totals = [(layers + 2) // stages] * stages
    totals[0] -= 1
    totals[-1] -= 1
    count = chunks - 1
    return [[total // count + (chunk < total % count) for chunk in range(count)] for total in totals]


def pipeline_of(row):
    if row.pipeline == 1:
        return "1"
    table = chunk_layers(row.model.layers, row.pipeline, row.chunks)
    each = ", ".join("{layers: [" + ", ".join(map(str, stage)) + "]}" for stage in table)
    is_interleaved = len(table[0]) > 1
    schedule = f"schedule: interleaved, chunks_per_stage: {len(table[0])}" if is_interleaved else "schedule: 1f1b"
    return f"{{stages: {row.pipeline}, {schedule}, each: [{each}]}}"


def sharding_of(row):
    if row.span == "all":
        return f"{{zero: {row.zero}}}"
    return f"{{parameters: {row.span}, gradients: {row.span}, optimizer: {row.span}}}"


def deck_text(row):
    """The deck of a row. Its data do not exist: plans do not read them."""
    model = row.model
    lora = f", lora: {{rank: {model.lora}, targets: [attention.q, attention.k, attention.v]}}" if model.lora else ""
    return f"""# {row.id}: {row.source}
deck_version: 1
run: {{name: {row.id.replace(".", "-")}}}
model: {{family: {model.family}, layers: {model.layers}, hidden: {model.hidden}, heads: {model.heads}, kv_heads: {model.kv_heads}, ffn_hidden: {model.ffn}, vocab: {model.vocab}, tie_embeddings: {str(model.tied).lower()}, max_seq: {row.seq}}}
data: {{tokenizer: none, seq: {row.seq}, train: [{{format: megatron, path: data/published}}]}}
train: {{steps: 1000, global_batch: {row.batch}, micro_batch: {row.micro}{lora}}}
parallel: {{tensor: {row.tensor}, sequence: {str(row.sequence).lower()}, context: {row.context}, pipeline: {pipeline_of(row)}}}
sharding: {sharding_of(row)}
recompute: {{kind: {row.recompute}}}
precision: {{compute: bf16}}
optimizer: {{lr: 1.0e-4}}
checkpoint: {{every: none}}
"""
