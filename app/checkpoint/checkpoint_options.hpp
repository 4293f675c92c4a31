/// Commands that read checkpoints: inspect, sample, eval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

struct InspectOptions : Options {
    std::string folder;       ///< a run, its ckpt folder, one checkpoint, a token file or a sample file
    bool tensors = false;     ///< list the tensors
    std::string tensor;       ///< show statistics of this tensor
    bool verify = false;      ///< verify every byte
    std::string other;        ///< compare with this checkpoint
    std::string tokenizer;    ///< of a sample file: file or folder, or `bytes`; empty: ids are shown
    std::string html;         ///< of a run: file for the page of its step; empty: none
    std::int64_t sample = 0;  ///< of a sample file: the number of the sample to show
    bool json = false;
};

/// Checkpoint whose model runs, its number type, and the tokenizer of its texts.
struct ModelChoice {
    std::string folder;     ///< a run, its ckpt folder, or one checkpoint
    std::string tokenizer;  ///< file, or folder that has it; `bytes`; empty: of the run
    std::string add_bos;    ///< auto, true or false; empty: of the run
    std::string compute;    ///< fp32 or bf16; empty: as trained
    bool average = false;   ///< the average of the weights (train.average) instead of the weights
    std::string kv_cache;   ///< home of the KV cache: device, host, nvme or nvme:DIR; empty: of the run
};

struct SampleOptions : Options, ModelChoice {
    std::string prompt;                 ///< beginning of the text
    std::string prompts;                ///< file of prompts, JSON lines; -: standard input; empty: none
    std::int64_t answers = 1;           ///< number of texts after each prompt
    std::int64_t tokens = 200;          ///< number of tokens to generate
    double temperature = 0.8;           ///< 0 takes the most likely token
    std::int64_t top_k = 0;             ///< number of most likely tokens to draw from; 0: all
    double top_p = 1;                   ///< total probability of the tokens to draw from
    std::vector<std::string> ends;      ///< texts before which the text stops
    std::optional<std::uint64_t> seed;  ///< empty: seed of the run
    bool is_chat = false;               ///< the prompt is a user's message
    std::string system;                 ///< system message of the conversation; empty: none
    std::string chat_template;          ///< auto, a file, or a name; empty: of the run
};

struct EvalOptions : Options, ModelChoice {
    std::string data;     ///< file, pattern, or path without suffix; empty: the run's validation data
    std::string format;   ///< format of `data`; empty: text if the model reads bytes, else llmc
    std::string dtype;    ///< uint16 or uint32, the type of raw data
    std::string task;     ///< file of multiple-choice tasks
    std::string choices;  ///< output file for the choices; empty: none
    bool json = false;
};

CommandRowOf<InspectOptions> inspect_row();
CommandRowOf<SampleOptions> sample_row();
CommandRowOf<EvalOptions> eval_row();

/// Lists, checks and compares checkpoints. Never starts MPI.
int inspect(const InspectOptions& options);

/// Prints a text that a checkpoint's model generates. Collective: as train()
int sample(const SampleOptions& options);

/// Prints the loss of a checkpoint's model, or its multiple-choice accuracy. Collective: as train()
int eval(const EvalOptions& options);

}  // namespace ziggurat::app
