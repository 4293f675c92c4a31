#include "data/tokenize/tokenize_files.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "app/model/model_options.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/output_style.hpp"
#include "app/start/tokenizers.hpp"
#include "base/clock.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "data/tokenizer/tokenizer_config.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/work_stop.hpp"

namespace ziggurat::app {
namespace {

/// Returns the number of cores that this process may use.
int usable_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? std::max(1, CPU_COUNT(&cores)) : 1;
}

/// Returns `data/train` for `data/train.bin`: readers of the formats accept both.
std::string name_of(std::string out) {
    for (const std::string ending : {".bin", ".idx"}) {
        if (out.size() > ending.size() && out.ends_with(ending)) {
            out.resize(out.size() - ending.size());
            break;
        }
    }
    return out;
}

data::InputKind kind_of(const TokenizeOptions& options) {
    return options.input == "text"                              ? data::InputKind::text
           : options.input == "jsonl" || !options.field.empty() ? data::InputKind::json_lines
                                                                : data::InputKind::by_content;
}

/// Prints a warning for each of the first bad lines, and one with the number of the others.
void warn_of_bad_lines(const data::TokenizeResult& made) {
    const auto warn = [](const std::string& text) {
        std::fputs((message(Severity::warning, text) + "\n").c_str(), stderr);
    };
    for (const auto& bad : made.bad_lines) {
        warn(fmt::format("'{}', line {} is skipped: {}", printable(bad.path), bad.line, bad.problem));
    }
    if (const auto others = made.skipped_lines - std::ssize(made.bad_lines); others > 0) {
        warn(fmt::format("{} more line{} skipped", format_grouped(others), others == 1 ? " is" : "s are"));
    }
}

void print_notes(const data::TextTokenizer& tokenizer, spec::AddBos add_bos) {
    if (!tokenizer.document_token()) {
        const std::string note = "the tokenizer names no document token: documents are not separated";
        std::fputs((message(Severity::note, note) + "\n").c_str(), stderr);
    }
    print_tokenizer_notes(tokenizer, add_bos);
}

}  // namespace

int tokenizing_threads(const TokenizeOptions& options) {
    return options.threads > 0 ? options.threads : usable_cores();
}

int tokenize(const TokenizeOptions& options) {
    if (options.is_chat) {
        return tokenize_chat(options);
    }
    const auto begin_ns = monotonic_ns();
    const auto tokenizer =
        options.tokenizer == "bytes" ? data::make_byte_tokenizer() : data::open_tokenizer(options.tokenizer);
    const auto add_bos = add_bos_of(options.add_bos, spec::AddBos::as_tokenizer_says);
    const train::StopSignals signals;
    const train::WorkStop stop{signals};
    make_folder_of(options.out);
    const data::TokenizeJob job{
        .inputs = options.paths,
        .kind = kind_of(options),
        .name = name_of(options.out),
        .format = options.format == "llmc" ? spec::TokenFormat::llmc : spec::TokenFormat::megatron,
        .lines = {.field = options.field.empty() ? "text" : options.field,
                  .skips_bad_lines = options.skip_bad_lines},
        .begin_token = data::added_begin_token(*tokenizer, add_bos),
        .configuration = data::configuration_hash(options.tokenizer == "bytes" ? "" : options.tokenizer),
        .threads = tokenizing_threads(options),
        .stop =
            stop.check_of("tokenizes", "Run the same command again to continue with the other documents.")};
    Progress progress{show_progress()};
    bool has_begun = false;
    // Only after the first tokens are written, so that the first output about a bad input is its error.
    const auto begin_once = [&] {
        if (!std::exchange(has_begun, true)) {
            print_notes(*tokenizer, add_bos);
            progress.begin("tokenizes", "bytes");
        }
    };
    const auto made = data::tokenize_files(job, *tokenizer, [&](std::int64_t done, std::int64_t all) {
        begin_once();
        progress.is_at(done, all);
    });
    begin_once();
    progress.end();
    warn_of_bad_lines(made);

    std::string paths;
    for (const auto& path : data::token_paths(job.name, job.format)) {
        paths += (paths.empty() ? "" : ", ") + printable(path);
    }
    const auto seconds = seconds_between(begin_ns, monotonic_ns());
    const auto done_bytes = made.text_bytes - made.earlier_bytes;
    fmt::print("{}  {} tokens of {} document{}, {}{}\nfrom  {} of text in {} file{}{}; in {}, {}/s\n", paths,
               format_grouped(made.written.tokens), format_grouped(made.written.documents),
               made.written.documents == 1 ? "" : "s", data::name_of(made.type),
               made.skipped_lines == 0
                   ? ""
                   : fmt::format("; {} bad line{} skipped", format_grouped(made.skipped_lines),
                                 made.skipped_lines == 1 ? "" : "s"),
               format_bytes(made.text_bytes), job.inputs.size(), job.inputs.size() == 1 ? "" : "s",
               made.earlier_bytes > 0 ? ", " + format_bytes(made.earlier_bytes) + " of it done before" : "",
               format_duration(seconds),
               format_bytes(static_cast<std::int64_t>(static_cast<double>(done_bytes) / seconds)));
    if (const auto& unknown = made.written.unknown; unknown.tokens > 0) {
        fmt::print("unknown  {} run{} of text that the vocabulary lacks, {} token{} of id {}\n",
                   format_grouped(unknown.runs), unknown.runs == 1 ? "" : "s", format_grouped(unknown.tokens),
                   unknown.tokens == 1 ? "" : "s", tokenizer->unknown_token().value_or(-1));
    }
    return 0;
}

}  // namespace ziggurat::app
