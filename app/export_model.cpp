#include "checkpoint/hf/export_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <string>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "app/trained_model.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/hf/export_adapters.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "checkpoint/hf/tokenizer_files.hpp"
#include "checkpoint/read_choice.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::app {

namespace {

/// Copies the files of a run's tokenizer beside its model, and says so; else a note, and nothing.
std::string copy_tokenizer(const spec::Tokenizer& tokenizer, const std::string& folder) {
    if (!tokenizer.has_file()) {
        return "";
    }
    try {
        data::open_tokenizer(tokenizer);  // still the run's
        const auto names = checkpoint::hf::copy_tokenizer_files(tokenizer, folder);
        return fmt::format("; {}", fmt::join(names, ", "));
    } catch (const Error& error) {
        const auto note = fmt::format("the model goes without its tokenizer ({})", error.what());
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
        return "";
    }
}

/// Exports one checkpoint.
///
/// \param is_begun  the target holds what was exported of another, which was removed meanwhile
void export_from(checkpoint::CheckpointReader& reader, const Arguments& arguments, bool& is_begun) {
    const auto begin_ns = monotonic_ns();
    const auto loaded = load_deck_of(reader.manifest(), reader.path());
    const auto type = arguments.dtype == "f32" ? spec::DType::f32 : spec::DType::bf16;
    const auto& model = loaded.run.model;
    if (arguments.merge && !model.lora.is_on()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("'{}' has no adapters to merge (its deck has no train.lora). Leave out --merge.",
                        printable(reader.path()))};
    }
    if (is_begun) {
        checkpoint::hf::remove_begun_model(arguments.target);
    }
    checkpoint::hf::make_empty_folder(arguments.target);
    is_begun = true;
    Progress progress{show_progress()};
    progress.begin("exports the model", "bytes");
    const bool is_whole = !model.lora.is_on() || arguments.merge;
    const auto made = is_whole ? checkpoint::hf::export_model(
                                     reader, model, arguments.target, type, arguments.shard_bytes,
                                     [&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); })
                               : checkpoint::hf::export_adapters(reader, model, arguments.target, type);
    const auto tokenizer = copy_tokenizer(loaded.run.data.tokenizer, arguments.target);
    progress.end();
    fmt::print("{}  {} tensors, {} in {} file{}, {}{}\nfrom        {}, step {}; in {}\n",
               printable(arguments.target), made.tensors, format_bytes(made.bytes), made.files,
               made.files == 1 ? "" : "s", type == spec::DType::f32 ? "f32" : "bf16", tokenizer,
               printable(reader.path()), format_grouped(reader.manifest().progress.step),
               format_duration(seconds_between(begin_ns, monotonic_ns())));
}

}  // namespace

int export_model(const Arguments& arguments) {
    bool is_begun = false;
    checkpoint::read_beside_training(
        arguments.folder, checkpoint::ReadCheck::hashes, print_note,
        [&](checkpoint::CheckpointReader& reader) { export_from(reader, arguments, is_begun); });
    return 0;
}

}  // namespace ziggurat::app
