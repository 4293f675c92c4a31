/// Options of loading a deck: what the deck does not say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deck/compose/environment.hpp"
#include "deck/machine/job_end.hpp"
#include "spec/depths.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::deck {

/// What a deck wants to know of its tokenizer.
struct TokenizerFacts {
    std::int64_t vocab = 0;                           ///< ids are smaller
    std::string hash;                                 ///< as spec::Tokenizer has it
    std::optional<std::int32_t> document_token = {};  ///< between documents; nothing: it names none
    std::optional<std::int32_t> begin_token = {};     ///< before a text; nothing: it names none
    bool adds_begin_token = false;                    ///< its own files ask for that
    std::string note = {};                            ///< about how it was read; empty: none
};

/// A source of tokens that a training could open.
struct SourceFacts {
    std::int64_t tokens = 0;
    std::vector<std::string> files = {};  ///< with its tokens, in their order
    /// Why it may not be what the deck says although it can be read.
    struct Doubt {
        std::string file, why, advice;
    };
    std::optional<Doubt> doubt = {};
};

/// A file of a validation that is trained on as well.
struct FileOverlap {
    std::size_t validated = 0;  ///< its place in the list that was asked about
    std::size_t trained = 0;    ///< the same
    bool is_copy = false;       ///< two files of the same bytes; else one file
};

/// The place of the run, and functions that choose what the deck leaves open.
struct LoadOptions {
    int ranks = 0;                                  ///< 0: as few as the deck's degrees allow
    int ranks_per_node = 0;                         ///< 0: as the machine has, at most all of them
    int ranks_per_device = 1;                       ///< that share one
    bool has_nccl = false;                          ///< what runs the deck was built with NCCL
    std::vector<int> node_of_rank = {};             ///< of the ranks as started; none: in a row
    int threads = 0;                                ///< per rank; 0: an equal part of the node's cores
    std::optional<spec::MachineSpec> machine = {};  ///< none: this one
    bool for_plan = false;  ///< takes what can be planned although it cannot be run yet
    /// Token files and checkpoints that are missing are errors; else notes, as for a plan, which reads none.
    bool needs_data = true;
    /// The program that loads the deck opens sources of the format own (train::RunContext::open_source).
    bool brings_tokens = false;
    /// For the deck of a run that was: no rule asks whether it could run here and now (its data may be
    /// elsewhere).
    bool as_record = false;
    /// The folder of the run that recorded the deck, for load_text() (working_folder.hpp); empty: nothing has
    std::string run_folder = {};
    /// Called when run.time_limit is auto; without it there is no job that ends.
    std::function<std::optional<JobEnd>()> job_end = {};
    /// Reads a tokenizer that is a file; without it nothing is asked of the file.
    /// Errors: its Error{deck} becomes one of the deck
    std::function<TokenizerFacts(const spec::Tokenizer&)> read_tokenizer = {};
    /// Opens a source, not of the format own, as a training does; without it nothing is asked of its files
    /// but that they are there. \param key  its place in the deck, which messages begin with Errors: its
    /// Error{deck} becomes one of the deck
    std::function<SourceFacts(const spec::Source&, const std::string& key)> read_source = {};
    /// Returns true if a token is in the first 2^26 of the source; without it nobody looks.
    std::function<bool(const spec::Source&, const std::string& key, std::int64_t token)> has_token = {};
    /// Finds the files of validation among those that are trained on; without it nobody looks.
    std::function<std::vector<FileOverlap>(const std::vector<std::string>& validated,
                                           const std::vector<std::string>& trained)>
        find_shared_files = {};
    /// Called, for a deck without errors, to choose the homes that it leaves open; without it they stay open.
    std::function<spec::RunSpec(const spec::RunSpec&, const spec::MachineSpec&)> choose_homes = {};
    /// Called, for a deck without errors whose homes are known, to choose how far ahead and in what pieces
    /// state moves; without it one segment ahead, and in pieces of 16 MiB.
    std::function<spec::Depths(const spec::RunSpec&, const spec::MachineSpec&, spec::OpenDepths)>
        choose_depths = {};
    /// Called, for a deck without errors whose homes are known, to choose whether cut parameters are gathered
    /// once a step, where that is open and of use; without it they are gathered for each pass.
    std::function<bool(const spec::RunSpec&, const spec::MachineSpec&)> choose_leases = {};
    Environment environment = process_environment;
};

}  // namespace ziggurat::deck
