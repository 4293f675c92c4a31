#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "app/model/model_options.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/output_style.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "data/chat/chat_files.hpp"
#include "data/chat/template_engine.hpp"
#include "spec/token_format.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {
namespace {

void warn(const std::string& text) {
    std::fputs((message(Severity::warning, text) + "\n").c_str(), stderr);
}

/// Returns `data/chats.samples` for `data/chats` and for `data/chats.samples`.
std::string path_of(const std::string& out) {
    return out.ends_with(data::sample_file_ending) ? out : out + std::string{data::sample_file_ending};
}

const char* text_of(data::SpanMethod method) {
    switch (method) {
        case data::SpanMethod::generation_blocks:
            return "generation blocks of the template";
        case data::SpanMethod::prefix_rendering:
            return "prefix rendering";
    }
    return "";
}

/// Returns `1 record`, or `12 pairs of answers`.
std::string records_of(const data::SampleFileHeader& header) {
    const auto count = header.has_pairs() ? header.num_samples / 2 : header.num_samples;
    return fmt::format("{} {}{}{}", format_grouped(count), header.has_pairs() ? "pair" : "record",
                       count == 1 ? "" : "s", header.has_pairs() ? " of answers" : "");
}

/// Counts skipped records, and prints the first ones.
class SkippedRecords {
  public:
    void add(const data::BadLine& record) {
        if (++count_ <= static_cast<std::int64_t>(data::EncodedBatch::max_named)) {
            warn(fmt::format("'{}', the record of line {} is skipped: {}", printable(record.path),
                             record.line, record.problem));
        }
    }
    void end() const {
        if (const auto others = count_ - static_cast<std::int64_t>(data::EncodedBatch::max_named);
            others > 0) {
            warn(fmt::format("{} more record{} skipped", format_grouped(others),
                             others == 1 ? " is" : "s are"));
        }
    }
    std::int64_t count() const noexcept { return count_; }

  private:
    std::int64_t count_ = 0;
};

}  // namespace

int tokenize_chat(const TokenizeOptions& options) {
    const auto begin_ns = monotonic_ns();
    const bool is_bytes = options.tokenizer == "bytes";
    const auto tokenizer = is_bytes ? data::make_byte_tokenizer() : data::open_tokenizer(options.tokenizer);
    const auto output = path_of(options.out);
    if (::access(output.c_str(), F_OK) == 0) {
        throw Error{ErrorKind::deck,
                    fmt::format("'{}' exists already. Remove it, or set another --out.", printable(output))};
    }
    make_folder_of(output);
    const data::ChatJob job{.inputs = options.paths,
                            .tokenizer = is_bytes ? "" : options.tokenizer,
                            .chat_template = options.chat_template,
                            .loss_on = spec::loss_on_of(options.loss_on).value_or(spec::LossOn::assistant),
                            .output = output,
                            .skips_bad_records = options.skip_bad_lines,
                            .threads = tokenizing_threads(options),
                            .engine = data::template_engine()};
    Progress progress{show_progress()};
    progress.begin("tokenizes", "bytes");
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    SkippedRecords skipped;
    std::optional<data::SpanMethod> method;
    std::vector<std::string> notes;
    const auto made = data::write_sample_file(
        job, *tokenizer,
        {.progress = [&](std::int64_t done, std::int64_t all) { progress.is_at(done, all); },
         .skipped = [&](const data::BadLine& record) { skipped.add(record); },
         .has_method = [&](data::SpanMethod used) { method = used; },
         .note = [&](const std::string& text) { notes.push_back(text); },
         .stop = stop.check_of("encodes records")});
    progress.end();
    skipped.end();
    for (const auto& note : notes) {
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    const auto seconds = seconds_between(begin_ns, monotonic_ns());
    fmt::print("{}  {}, {} tokens, {} of them count in the loss{}\nmask  {}, {}; in {}, {} tokens/s\n",
               printable(output), records_of(made), format_grouped(made.num_tokens),
               format_grouped(made.num_counted),
               skipped.count() == 0
                   ? ""
                   : fmt::format("; {} bad record{} skipped", format_grouped(skipped.count()),
                                 skipped.count() == 1 ? "" : "s"),
               spec::word_of(job.loss_on), method ? text_of(*method) : "without a template",
               format_duration(seconds),
               format_grouped(static_cast<std::int64_t>(static_cast<double>(made.num_tokens) / seconds)));
    return 0;
}

}  // namespace ziggurat::app
