#include "checkpoint/hf/export_model.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "app/checkpoint/trained_model.hpp"
#include "app/model/companions.hpp"
#include "app/model/model_options.hpp"
#include "app/output/output_style.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "checkpoint/catalogue/read_choice.hpp"
#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/hf/companion_files.hpp"
#include "checkpoint/hf/export_adapters.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "checkpoint/hf/usage_files.hpp"
#include "deck/files/resumed_run.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {

namespace {

/// Number type of the exported tensors.
struct ExportType {
    spec::DType type = spec::DType::bf16;
    std::string reason;  ///< empty if it was given by --dtype
};

/// Chooses the number type: --dtype, else the type of the imported model, else precision.compute.
///
/// \param kept  folder with files of the published model that the run began with; may not exist
ExportType choose_type(const std::string& asked, const std::string& kept, spec::DType computed) {
    if (!asked.empty()) {
        return {asked == "f32" ? spec::DType::f32 : spec::DType::bf16, ""};
    }
    const auto came = checkpoint::hf::hf_type(kept);
    if (came.empty()) {
        return {computed == spec::DType::f32 ? spec::DType::f32 : spec::DType::bf16, " as computed"};
    }
    if (came != "bfloat16" && came != "float32") {
        const auto note = fmt::format(
            "the model came in {}, which cannot be written; f32 keeps its values. --dtype bf16 halves the "
            "size of the files.",
            printable(came));
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    return {came == "bfloat16" ? spec::DType::bf16 : spec::DType::f32, " as the model came in"};
}

/// Returns the base model for the files of adapters.
///
/// \param asked  value of --base; empty: the base that the run recorded
std::string base_of_adapters(const std::string& asked, const std::string& root) {
    const auto base = asked.empty() ? checkpoint::hf::kept_base(root) : asked;
    if (base.empty()) {
        const auto note = std::string{
            "the adapters name no base model (the run did not start from a published model). PEFT needs it: "
            "export again with --base and the name or folder of that model."};
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    return base;
}

/// Exports one checkpoint.
///
/// \param is_begun  true if the target holds parts of another checkpoint, which was removed during the export
void export_from(checkpoint::CheckpointReader& reader,
                 const ExportOptions& options,
                 const StopCheck& stop,
                 bool& is_begun) {
    const auto begin_ns = monotonic_ns();
    const auto loaded = load_deck_of(reader.manifest(), reader.path());
    const auto& model = loaded.run.model;
    if (options.merge && !model.lora.is_on()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("'{}' has no adapters to merge (its deck has no train.lora). Leave out --merge.",
                        printable(reader.path()))};
    }
    if (options.average) {
        reader.use_averages();
    }
    const bool is_whole = !model.lora.is_on() || options.merge;
    if (is_whole && !options.base.empty()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("--base names the base of adapters, but '{}' is exported as a full model. Leave "
                        "out --base{}.",
                        printable(reader.path()), options.merge ? " or --merge" : "")};
    }
    if (is_begun) {
        checkpoint::hf::remove_begun_model(options.target);
    }
    checkpoint::hf::make_empty_folder(options.target);
    is_begun = true;
    Progress progress{show_progress()};
    progress.begin("exports the model", "bytes");
    const auto root = checkpoint::hf::root_of(reader.path());
    const auto companions = find_companions(loaded.run.data.tokenizer, deck::kept_folder(root));
    const auto [type, reason] =
        choose_type(options.dtype, deck::kept_folder(root), loaded.run.precision.compute);
    const auto on_progress = [&](std::int64_t done, std::int64_t all) {
        check(stop);
        progress.is_at(done, all);
    };
    const auto made = is_whole
                          ? checkpoint::hf::export_model(reader, model, options.target, type,
                                                         options.shard_bytes, companions.usage, on_progress)
                          : checkpoint::hf::export_adapters(reader, model, options.target, type,
                                                            base_of_adapters(options.base, root));
    const auto copied = copy_companions(companions, loaded.run, options.target);
    progress.end();
    fmt::print("{}  {} tensors, {} in {} file{}, {}{}{}\nfrom        {}, step {}{}; in {}\n",
               printable(options.target), made.tensors, format_bytes(made.bytes), made.files,
               made.files == 1 ? "" : "s", type == spec::DType::f32 ? "f32" : "bf16", reason, copied,
               printable(reader.path()), format_grouped(reader.manifest().progress.step),
               options.average ? ", the average of the weights" : "",
               format_duration(seconds_between(begin_ns, monotonic_ns())));
}

}  // namespace

int export_model(const ExportOptions& options) {
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    const auto check_stop =
        stop.check_of("exports the model", "Its files are removed. Run the same command again.");
    bool is_begun = false;
    try {
        checkpoint::read_during_training(options.folder, checkpoint::ReadCheck::hashes, print_note,
                                         [&](checkpoint::CheckpointReader& reader) {
                                             export_from(reader, options, check_stop, is_begun);
                                         });
    } catch (...) {
        if (is_begun) {  // incomplete files would make the next attempt fail
            checkpoint::hf::remove_begun_model(options.target);
        }
        throw;
    }
    return 0;
}

}  // namespace ziggurat::app
