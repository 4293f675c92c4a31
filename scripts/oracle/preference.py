"""Training on pairs of answers in plain PyTorch: DPO and IPO, with all weights or with adapters.

Each answer is computed in a row of its own, so nothing here depends on how pairs are packed or divided.

Source: Rafailov et al., "Direct Preference Optimization", 2023, equation 7; Mitchell, "A note on DPO with noisy
        preferences", 2023, equation 3 (label smoothing); Azar et al., "A General Theoretical Paradigm to Understand
        Learning from Human Preferences", 2023, equation 17 (IPO), with log-probabilities per token as in TRL.
"""

import dataclasses

import torch
import torch.nn.functional as F

import adamw
import models

MODEL = {"family": "llama", "layers": 2, "hidden": 32, "heads": 4, "kv_heads": 2, "ffn_hidden": 48, "vocab": 61,
         "max_seq": 64, "tie_embeddings": False, "norm_epsilon": 1e-5, "rope_theta": 10000.0}
# With a large eps, gradients of the wrong size change the weights. Only IPO's gradients are clipped.
OPTIMIZER = {"kind": "adamw", "lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-3, "weight_decay": 0.1, "clip_norm": 10.0}
NUM_STEPS = 20
NUM_PAIRS, PAIRS_PER_STEP = 22, 4  # an epoch ends within a step
PROMPT_TOKENS, ANSWER_TOKENS = (2, 8), (3, 20)
SEQ = PROMPT_TOKENS[1] * 2 + ANSWER_TOKENS[1] * 2  # one pair fills a sequence
SEED = 20230529
BOUND = 1e-5  # of a correct program in fp32: |a - b| / max(1, |b|)
# The value of `reference` is a folder with a model, or a keyword of train.objective.reference.
OBJECTIVES = {
    "dpo": {"kind": "dpo", "beta": 0.1, "label_smoothing": 0.0, "reference": "start"},
    "smoothed": {"kind": "dpo", "beta": 0.5, "label_smoothing": 0.2, "reference": "start"},
    "ipo": {"kind": "ipo", "beta": 0.2, "label_smoothing": 0.0, "reference": "start"},
    "other_reference": {"kind": "dpo", "beta": 0.1, "label_smoothing": 0.0, "reference": "models/reference"},
}
# All pairs in each step, so the order of the pairs has no effect.
ALL_PAIRS = {"steps": 3, "pairs": NUM_PAIRS,
             "objective": {"kind": "ipo", "beta": 0.2, "label_smoothing": 0.0, "reference": "models/reference"}}
EXACT_PREFIXES = ("policy/", "reference/", "samples/")
HF_NAMES = {"embedding.token": "embed_tokens.weight", "final_norm.gain": "norm.weight",
            "attn_norm.gain": "input_layernorm.weight", "mlp_norm.gain": "post_attention_layernorm.weight",
            "attention.q.weight": "self_attn.q_proj.weight", "attention.k.weight": "self_attn.k_proj.weight",
            "attention.v.weight": "self_attn.v_proj.weight", "attention.out.weight": "self_attn.o_proj.weight",
            "mlp.gate.weight": "mlp.gate_proj.weight", "mlp.up.weight": "mlp.up_proj.weight",
            "mlp.down.weight": "mlp.down_proj.weight"}


def hf_name(name):
    """Name in a Llama of Hugging Face."""
    if name == "head.weight":
        return "lm_head.weight"
    layer = ".".join(name.split(".")[:2]) + "." if name.startswith("layers.") else ""
    return f"model.{layer}{HF_NAMES[name.removeprefix(layer)]}"


@dataclasses.dataclass
class Samples:
    """Answers with their prompts, one per row, padded at the end. Rows 2 i and 2 i + 1 are the chosen and the rejected
    answer of pair i."""

    tokens: torch.Tensor  # [samples, longest]
    counts: torch.Tensor  # [samples, longest] 1: the token is one of the answer and counts as a target
    lengths: list  # tokens of each sample

    def of_pairs(self, pairs):
        rows = [row for pair in pairs for row in (2 * pair, 2 * pair + 1)]
        return Samples(self.tokens[rows], self.counts[rows], [self.lengths[row] for row in rows])

    @property
    def num_counted(self):
        """[pairs, 2]"""
        return self.counts.sum(1).reshape(-1, 2)


def initial_weights(generator):
    """Smaller than those of the other oracles: sums over answers and differences of them have larger errors in fp32."""
    return {name: w / 2 if any(part in name for part in (".q.", ".k.", "head")) else w
            for name, w in models.initial_weights(MODEL, generator).items()}


def make_samples(generator):
    """Every third pair has the prompt of the pair before it; every fourth answer has tokens that do not count."""
    def draw(bounds):
        return int(torch.randint(bounds[0], bounds[1] + 1, (), generator=generator))

    rows, prompt = [], None
    for pair in range(NUM_PAIRS):
        fills = pair == NUM_PAIRS // 2
        if pair % 3 != 1:
            prompt = torch.randint(MODEL["vocab"], (PROMPT_TOKENS[1] if fills else draw(PROMPT_TOKENS),),
                                   generator=generator)
        for answer in range(2):
            length = ANSWER_TOKENS[1] if fills else draw(ANSWER_TOKENS)
            counted = torch.ones(length, dtype=torch.int32)
            if (2 * pair + answer) % 4 == 3:
                counted[length // 3: length // 2] = 0
                counted[-1] = 0
            tokens = torch.cat([prompt, torch.randint(MODEL["vocab"], (length,), generator=generator)])
            rows.append((tokens.to(torch.int32), torch.cat([torch.zeros(len(prompt), dtype=torch.int32), counted])))
    return padded(rows)


def padded(rows):
    """Samples of pairs of tensors: tokens and counts."""
    pad = torch.nn.utils.rnn.pad_sequence
    return Samples(pad([tokens for tokens, _ in rows], batch_first=True),
                   pad([counts for _, counts in rows], batch_first=True), [len(tokens) for tokens, _ in rows])


def log_probability_sums(model, weights, samples):
    """[pairs, 2]: of each answer the sum of log p over its tokens that count."""
    inputs, targets = samples.tokens[:, :-1], samples.tokens[:, 1:].long()
    positions = torch.arange(inputs.shape[1]).expand(inputs.shape)
    batch = {"tokens": inputs, "positions": positions, "document_starts": torch.zeros_like(inputs)}
    log_probabilities = F.log_softmax(models.logits(model, weights, batch), dim=-1)
    of_targets = log_probabilities.gather(-1, targets[..., None])[..., 0]
    return (of_targets * samples.counts[:, 1:]).sum(1).reshape(-1, 2)


def rewards_and_losses(objective, policy, reference, num_counted):
    """Rewards [pairs, 2] and losses [pairs] of sums of log-probabilities [pairs, 2]."""
    beta, smoothing = objective["beta"], objective["label_smoothing"]
    gain = policy - reference
    if objective["kind"] == "ipo":
        gain = gain / num_counted
    rewards = beta * gain
    margins = rewards[:, 0] - rewards[:, 1]
    if objective["kind"] == "ipo":
        return rewards, (margins / beta - 1 / (2 * beta)).square()
    return rewards, -(1 - smoothing) * F.logsigmoid(margins) - smoothing * F.logsigmoid(-margins)


def answer_weights(objective, policy, reference, num_counted):
    """[pairs, 2]: derivatives of the mean loss with respect to `policy`, written out; autograd must agree."""
    rewards, _ = rewards_and_losses(objective, policy, reference, num_counted)
    beta, smoothing, margins = objective["beta"], objective["label_smoothing"], rewards[:, 0] - rewards[:, 1]
    if objective["kind"] == "ipo":
        slopes = (2 * (margins / beta - 1 / (2 * beta)))[:, None] / num_counted
    else:
        slopes = (beta * (smoothing * margins.sigmoid() - (1 - smoothing) * (-margins).sigmoid()))[:, None]
    return slopes * torch.tensor([1.0, -1.0], dtype=policy.dtype) / len(margins)


def pairs_of_step(step, per_step, num_pairs):
    """Pairs of a step from 0, in the order of the file, which starts again at its end."""
    return [(step * per_step + k) % num_pairs for k in range(per_step)]


@torch.no_grad()
def reference_sums(model, weights, samples):
    return log_probability_sums(model, weights, samples)


def train(model, initial, samples, objective, reference, *, weights_of=lambda trained: trained, optimizer=OPTIMIZER,
          num_steps=NUM_STEPS, per_step=PAIRS_PER_STEP):
    """Returns a dict of lists with one value per step, each before its update.

    `initial`: the trained tensors; `weights_of`: the model's weights as a function of them; `reference`: sums of
    log-probabilities [pairs, 2] of all pairs. `smallest_margin` is the smallest absolute difference of the rewards of a pair.
    """
    trained = {name: value.detach().clone().requires_grad_() for name, value in initial.items()}
    adam = adamw.make_optimizer(trained, optimizer)
    curves = {name: [] for name in ("losses", "gradient_norms", "reward_chosen", "reward_rejected", "reward_accuracy",
                                    "smallest_margin")}
    for step in range(num_steps):
        pairs = pairs_of_step(step, per_step, len(reference))
        part = samples.of_pairs(pairs)
        adam.zero_grad()
        policy = log_probability_sums(model, weights_of(trained), part)
        policy.retain_grad()
        rewards, losses = rewards_and_losses(objective, policy, reference[pairs], part.num_counted)
        losses.mean().backward()
        written_out = answer_weights(objective, policy.detach(), reference[pairs], part.num_counted)
        assert (policy.grad - written_out).norm() <= 1e-5 * written_out.norm(), (policy.grad, written_out)
        norm = adamw.clip_gradients(trained, optimizer["clip_norm"])
        adam.step()
        margins = (rewards[:, 0] - rewards[:, 1]).detach()
        for name, value in (("losses", losses.mean()), ("gradient_norms", norm),
                            ("reward_chosen", rewards[:, 0].mean()), ("reward_rejected", rewards[:, 1].mean()),
                            ("reward_accuracy", (margins > 0).double().mean()), ("smallest_margin", margins.abs().min())):
            curves[name].append(float(torch.as_tensor(value).detach()))
    return curves


def with_adapters(weights, adapters, factor):
    """Weights with W + factor B A in place of W, for adapters NAME.lora_a and NAME.lora_b of NAME.weight."""
    merged = dict(weights)
    for name in adapters:
        if name.endswith(".lora_a"):
            target = name.removesuffix(".lora_a")
            merged[f"{target}.weight"] = (weights[f"{target}.weight"] +
                                          factor * adapters[f"{target}.lora_b"] @ adapters[name])
    return merged


def gap(ours, oracle):
    """The largest difference of two curves, relative to max(1, |b|)."""
    return max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(ours, oracle, strict=True))


def make():
    """The parts of a deck, and the tensors of tests/oracle/preference_tiny.safetensors."""
    generator = torch.Generator().manual_seed(SEED)
    folders = {name: initial_weights(generator) for name in ("policy", "reference")}
    samples = make_samples(generator)
    begins = torch.cat([torch.zeros(1, dtype=torch.int64), torch.tensor(samples.lengths).cumsum(0)]).to(torch.int32)
    used = torch.arange(samples.tokens.shape[1]) < torch.tensor(samples.lengths)[:, None]
    tensors = {f"{folder}/{hf_name(n)}": w for folder, weights in folders.items() for n, w in weights.items()}
    tensors |= {"samples/tokens": samples.tokens[used], "samples/counts": samples.counts[used], "samples/begins": begins}
    print(f"preference_tiny: {NUM_PAIRS} pairs, {begins[-1]} tokens; PyTorch itself is off by")
    trainings = {name: (objective, NUM_STEPS, PAIRS_PER_STEP) for name, objective in OBJECTIVES.items()}
    trainings["all_pairs"] = ALL_PAIRS["objective"], ALL_PAIRS["steps"], NUM_PAIRS
    for name, (objective, num_steps, per_step) in trainings.items():
        curves = {}
        for dtype in (torch.float64, torch.float32):
            policy, other = ({n: w.to(dtype) for n, w in folders[folder].items()} for folder in ("policy", "reference"))
            reference = reference_sums(MODEL, policy if objective["reference"] == "start" else other, samples)
            curves[dtype] = train(MODEL, policy, samples, objective, reference, num_steps=num_steps, per_step=per_step)
        exact, single = curves[torch.float64], curves[torch.float32]
        gaps = {what: gap(single[what], curve) for what, curve in exact.items()}
        print(f"  {name}: loss {exact['losses'][0]:.4f} -> {exact['losses'][-1]:.4f}, norm {exact['gradient_norms'][0]:.3f}; "
              + ", ".join(f"{what} {value:.1e}" for what, value in gaps.items()))
        # If the reference is the start, the margins of the first step are zero. Accuracies of other steps are compared.
        first = 1 if objective["reference"] == "start" else 0
        assert min(exact["smallest_margin"][first:]) > 5 * BOUND, "a pair's margin is too close to zero"
        assert all(value < BOUND / 2 for what, value in gaps.items() if what != "reward_accuracy"), "PyTorch is at the bound"
        tensors |= {f"{name}/{what}": torch.tensor(curve, dtype=torch.float32) for what, curve in exact.items()}
    config = {"model": MODEL, "data": {"seq": SEQ}, "train": {"steps": NUM_STEPS, "global_batch": PAIRS_PER_STEP},
              "optimizer": OPTIMIZER, "objectives": OBJECTIVES, "all_pairs": ALL_PAIRS, "bound": BOUND}
    return config, tensors
