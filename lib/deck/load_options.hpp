/// Options of loading a deck that are not part of the deck.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deck/compose/environment.hpp"
#include "deck/machine/job_deadline.hpp"
#include "spec/accumulation_choice.hpp"
#include "spec/depths.hpp"
#include "spec/layout_space.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "spec/tensor_overlap_choice.hpp"

namespace ziggurat::deck {

/// Properties of a tokenizer that decks depend on.
struct TokenizerFacts {
    std::int64_t vocab = 0;                           ///< ids are smaller
    std::string hash;                                 ///< as in spec::Tokenizer
    std::optional<std::int32_t> document_token = {};  ///< separates documents; nullopt: not defined
    std::optional<std::int32_t> begin_token = {};     ///< precedes a text; nullopt: not defined
    bool adds_begin_token = false;                    ///< true if its own files specify that
    std::string note = {};                            ///< about how it was read; may be empty
};

/// Properties of a token source that can be opened.
struct SourceFacts {
    std::int64_t tokens = 0;
    /// Arrangement of the samples of conversations in sequences.
    struct Packed {
        std::int64_t samples = 0, cut = 0, dropped = 0;
        std::int64_t trained = 0, held_out = 0;  ///< sequences
        /// Samples that are cut before their first token that counts in the loss.
        std::int64_t without_target = 0;
        std::int64_t held_out_samples = 0,
                     held_out_without_target = 0;  ///< of `samples` and `without_target`
        std::int64_t without_flag = 0;             ///< samples that have no counted token even if whole
        double fill = 0;                           ///< share of tokens that are not padding
        bool has_pairs = false;                    ///< samples, cut and dropped count pairs of answers
    };
    std::optional<Packed> packed = {};
    /// Targets that count in the loss, in whole sequences.
    struct Targets {
        std::int64_t trained = 0;   ///< of a source of data.validation, those that are validated
        std::int64_t held_out = 0;  ///< validated by data.held_out
        bool is_exact = true;       ///< false: 1 if a target exists, else 0
    };
    std::optional<Targets> targets = {};  ///< nullopt: all tokens are targets
    std::vector<std::string> files = {};  ///< files with its tokens, in order
    /// Reason to suspect that the file differs from its description in the deck, although it is readable.
    struct FormatWarning {
        std::string file, reason, advice;
    };
    std::optional<FormatWarning> doubt = {};
};

/// A validation file that is also a training file.
struct FileOverlap {
    std::size_t validated = 0;  ///< index in the list of validation files
    std::size_t trained = 0;    ///< index in the list of training files
    bool is_copy = false;       ///< true: two files with equal bytes; false: the same file
};

/// Environment of the run, and functions that choose values which the deck leaves open.
struct LoadOptions {
    int ranks = 0;                                  ///< 0: minimum for the deck's degrees
    int ranks_per_node = 0;                         ///< 0: as the machine has, at most `ranks`
    int ranks_per_device = 1;                       ///< ranks that share a GPU
    bool has_nccl = false;                          ///< true if the executing program was built with NCCL
    std::vector<int> node_of_rank = {};             ///< as started; empty: consecutive ranks
    int threads = 0;                                ///< per rank; 0: an equal share of the node's cores
    std::optional<spec::MachineSpec> machine = {};  ///< nullopt: this machine
    /// If true, missing token files and checkpoints are errors; else notes (a plan does not read them).
    bool needs_data = true;
    /// True if the calling program supplies sources of the format own (train::RunContext::open_source).
    bool brings_tokens = false;
    /// For the deck of a past run: skips rules that check if it could run here and now (its data may be on
    /// another machine).
    bool as_record = false;
    /// Folder of the run that recorded the deck, for load_text() (working_folder.hpp); empty: not recorded.
    std::string run_folder = {};
    /// Called if run.time_limit is auto; if empty, no job end is known.
    std::function<std::optional<JobDeadline>()> job_end = {};
    /// Called with run.time_limit, and the text that names it, before any source is read; if empty, not
    /// called.
    std::function<void(double seconds, const std::string& source)> has_time_limit = {};
    /// Reads a tokenizer file; if empty, the file is not read.
    /// Errors: its Error{deck} becomes an error of the deck
    std::function<TokenizerFacts(const spec::Tokenizer&)> read_tokenizer = {};
    /// Opens a source, not of the format own, as a training does; if empty, only the existence of its files
    /// is checked.
    /// \param key  key of the source in the deck; messages begin with it
    /// Errors: its Error{deck} becomes an error of the deck
    std::function<SourceFacts(const spec::RunSpec&, const spec::Source&, const std::string& key)>
        read_source = {};
    /// Returns true if a token occurs in the first 2^26 of the source; if empty, this is not checked.
    std::function<bool(const spec::Source&, const std::string& key, std::int64_t token)> has_token = {};
    /// Finds validation files that are also training files; if empty, this is not checked.
    std::function<std::vector<FileOverlap>(const std::vector<std::string>& validated,
                                           const std::vector<std::string>& trained)>
        find_train_validation_overlap = {};
    /// Makes load() set LoadedDeck::layout_rules.
    bool keeps_layout_rules = false;
    /// Called for a deck with a valid model to choose its open layout. If empty, open degrees are 1.
    std::function<spec::ChosenLayouts(
        const spec::RunSpec&, const spec::MachineSpec&, const spec::LayoutSpace&, const spec::LayoutRules&)>
        choose_layout = {};
    /// Called for a deck without errors to choose its open homes; if empty, they stay open.
    std::function<spec::RunSpec(const spec::RunSpec&, const spec::MachineSpec&)> choose_homes = {};
    /// Called for a deck without errors and with known homes, to choose prefetch depths and chunk sizes. If
    /// empty: one segment ahead, and chunks of 16 MiB.
    std::function<spec::Depths(const spec::RunSpec&, const spec::MachineSpec&, spec::AutoDepths)>
        choose_depths = {};
    /// Called for a deck without errors and with known homes, to choose the lease of gathered parameters.
    ///
    /// Returns true if sharded parameters are gathered once per step. Only called if this is open and can
    /// have an effect. If empty, they are gathered for each pass.
    std::function<bool(const spec::RunSpec&, const spec::MachineSpec&)> choose_leases = {};
    /// Called for a deck without errors and with known homes, to choose the order of micro-batches. Only
    /// called if this is open and can have an effect. If empty: by micro-batch.
    std::function<spec::AccumulationChoice(const spec::RunSpec&, const spec::MachineSpec&)>
        choose_accumulation = {};
    /// Called for a deck without errors and with known homes, to choose pieces of tensor collectives. Only
    /// called if this is open and can have an effect. If empty: whole collectives.
    std::function<spec::TensorOverlapChoice(const spec::RunSpec&, const spec::MachineSpec&)>
        choose_tensor_overlap = {};
    Environment environment = process_environment;
};

}  // namespace ziggurat::deck
