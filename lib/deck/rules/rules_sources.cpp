#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text/looked_in.hpp"
#include "deck/files/token_file.hpp"
#include "deck/messages/missing_path.hpp"
#include "deck/rules/each_source.hpp"
#include "deck/rules/rules.hpp"

namespace ziggurat::deck {
namespace {

/// Files of the sources of one list, each with its source's path in the deck.
struct ListedFiles {
    std::vector<std::string> names;
    std::vector<std::string> sources;

    void add(const std::string& source, const std::vector<std::string>& files) {
        names.insert(names.end(), files.begin(), files.end());
        sources.insert(sources.end(), files.size(), source);
    }
};

bool is_of_validation(const std::string& path) {
    return path.starts_with(source_lists[1]);
}

/// Reports a part of a source that is shorter than a window: a sequence and its last target.
void expect_a_window(const Resolution& at, const std::string& path, std::int64_t tokens, const char* use) {
    const std::int64_t needed = at.run.data.seq + 1;
    if (tokens < needed && !at.values.is_bad("data.seq")) {
        at.found.error(at.values.location(path + ".path"),
                       fmt::format("{} has {} tokens for {}", path, tokens, use),
                       fmt::format("a sequence of {} and its last target are {}", at.run.data.seq, needed),
                       "Use more data, a shorter data.seq or another data.held_out.");
    }
}

void expect_windows(const Resolution& at, const std::string& path, std::int64_t tokens) {
    if (is_of_validation(path)) {
        expect_a_window(at, path, tokens, "validation");
        return;
    }
    const auto held_out = static_cast<std::int64_t>(at.run.data.held_out * static_cast<double>(tokens));
    expect_a_window(at, path, tokens - held_out, "training");
    if (at.run.data.held_out > 0) {
        expect_a_window(at, path, held_out, "validation by data.held_out");
    }
}

/// Reports a source of packed samples if no sequence is held out although the deck asks for it.
void expect_sequences(const Resolution& at, const std::string& path, const SourceFacts::Packed& packed) {
    if (!is_of_validation(path) && at.run.data.held_out > 0 && packed.held_out == 0) {
        at.found.error(at.values.location("data.held_out"),
                       fmt::format("{} has {} samples, none of which is held out", path, packed.samples),
                       fmt::format("data.held_out is {:.3g} % of them", 100 * at.run.data.held_out),
                       "Use more data or a larger data.held_out.");
    }
}

/// Returns the reason why no target of a source is left, in a training or a validation, and the remedy.
std::pair<std::string, const char*> no_target_reason(const Resolution& at, const SourceFacts& facts) {
    if (at.run.data.seq == 1) {
        return {"data.seq = 1 leaves no token before a target", "Increase data.seq."};
    }
    if (!facts.targets->is_exact) {
        return {"each document has one token, and no context predicts it", "Use longer documents."};
    }
    if (facts.packed && facts.packed->without_target > 0) {
        return {fmt::format("samples are cut at data.seq = {}, before their first counted token",
                            at.run.data.seq),
                "Increase data.seq."};
    }
    return {"no token of its sequences has a flag",
            "Make the file again with 'ziggurat tokenize RECORDS --chat'."};
}

/// Rejects a source without a target that counts in the loss.
void expect_a_target(const Resolution& at, const std::string& path, const SourceFacts& facts) {
    const auto location = at.values.location(path + ".path");
    const auto reject = [&](const std::string& use) {
        const auto [reason, remedy] = no_target_reason(at, facts);
        at.found.error(location, fmt::format("no token of {} counts in the loss{}", path, use), reason,
                       remedy);
    };
    if (facts.targets->trained == 0) {
        reject(is_of_validation(path) ? " of the validation" : "");
    } else if (!is_of_validation(path) && at.run.data.held_out > 0 && facts.targets->held_out == 0 &&
               (!facts.packed || facts.packed->held_out > 0)) {
        reject(" of the validation (data.held_out)");
    }
}

/// Warns if more than this share of the samples of a source is cut or dropped.
constexpr double max_shortened = 0.01;

void warn_of_shortened_samples(const Resolution& at,
                               const std::string& path,
                               const SourceFacts::Packed& packed) {
    const auto location = at.values.location(path + ".path");
    const auto all = packed.samples + packed.dropped;
    const auto warn = [&](std::int64_t count, const char* what, const char* loss, const char* remedy) {
        const double share = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
        if (share > max_shortened) {
            at.found.warning(location,
                             fmt::format("{} of {} {} of {} are {} at data.seq = {}", count, all,
                                         packed.has_pairs ? "pairs" : "samples", path, what, at.run.data.seq),
                             fmt::format("{:.1f} %: {}", 100 * share, loss), remedy);
        }
    };
    warn(packed.cut, "cut", "the ends of their answers, and when to end one, are not learned",
         "Increase data.seq, or set data.long_samples: drop.");
    warn(packed.dropped, "dropped", "no token of them is learned", "Increase data.seq.");
}

/// Warns of samples without a token that counts in the loss.
void warn_of_lost_samples(const Resolution& at, const std::string& path, const SourceFacts::Packed& packed) {
    const auto location = at.values.location(path + ".path");
    const auto warn = [&](std::int64_t count, const std::string& reason, const char* remedy) {
        if (count > 0) {
            at.found.warning(location,
                             fmt::format("{} of {} samples of {} {} no token that counts in the loss", count,
                                         packed.samples, path, count == 1 ? "has" : "have"),
                             reason, remedy);
        }
    };
    warn(packed.without_target,
         fmt::format("they are cut at data.seq = {}, before their first counted token", at.run.data.seq),
         "Increase data.seq, or set data.long_samples: drop.");
    warn(packed.without_flag, "none of their tokens has a flag", "Remove them from the file.");
    warn_of_shortened_samples(at, path, packed);
}

/// Checks a source of tokens without a file.
void check_own(const Resolution& at, const std::string& path) {
    if (at.options.brings_tokens) {
        return;
    }
    const auto location = at.values.location(path + ".format");
    if (at.options.needs_data) {
        at.found.error(location, "format own needs a program that calls the library",
                       "this command is not such a program",
                       "Use text, llmc, megatron or raw, or start that program.");
    } else {
        at.found.note(location, "tokens of the format own are not checked",
                      "a program that calls the library supplies them");
    }
}

/// Returns true if no setting is bad that the reading of a source depends on.
bool has_settings_of(const Resolution& at, const spec::Source& source) {
    const auto is_good = [&](const char* key) { return !at.values.has_bad(key); };
    return source.format != spec::TokenFormat::chat ||
           (is_good("data.seq") && is_good("data.packing") && is_good("data.long_samples") &&
            is_good("data.tokenizer") && is_good("train.objective"));
}

/// Returns false, after an error or a note, if files do not exist.
bool is_present(const Resolution& at, const std::string& path, const spec::Source& source) {
    const NamedFiles named = look_for(source);
    const SourceLocation location = at.values.location(path + ".path");
    if (named.is_missing && !at.options.needs_data) {
        at.found.note(location, fmt::format("{} is not here", in_quotes(source.path)),
                      fmt::format("{}; looked for in {}; a plan does not need it, but a training does",
                                  named.reason, looked_in(source.path)));
    } else if (!named.reason.empty()) {
        at.found.error(
            location,
            fmt::format("cannot use {} as {}", in_quotes(source.path), at.values.keyword(path + ".format")),
            named.reason,
            !named.advice.empty() ? named.advice
            : named.is_missing
                ? fmt::format("Check the path and the format, or set {}.path to another.", path)
                : "Check the path and the format.");
        if (named.is_missing) {
            note_where_looked(at.found, location, source.path);
        }
    }
    return named.reason.empty();
}

/// Removes key and full stop from a sentence of the reader, because the deck's error adds its own.
std::string as_problem(std::string sentence, const std::string& key) {
    if (sentence.starts_with(key + ": ")) {
        sentence.erase(0, key.size() + 2);
    }
    if (sentence.ends_with('.')) {
        sentence.pop_back();
    }
    return sentence;
}

/// Opens a source as a training does; returns nullopt, after an error, if that fails.
std::optional<SourceFacts> read(const Resolution& at, const std::string& path, const spec::Source& source) {
    const std::string key = path + ".path";
    try {
        return at.options.read_source(at.run, source, key);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::deck) {
            throw;
        }
        at.found.error(at.values.location(key), as_problem(error.what(), key), "", "");
        return std::nullopt;
    }
}

void warn_of_shared_files(const Resolution& at, const ListedFiles& validated, const ListedFiles& trained) {
    const auto shared = at.options.find_train_validation_overlap(validated.names, trained.names);
    for (auto first = shared.begin(); first != shared.end();) {
        const std::string& source = validated.sources.at(first->validated);
        const auto next = std::find_if(first, shared.end(), [&](const FileOverlap& file) {
            return validated.sources.at(file.validated) != source;
        });
        const auto others = next - first - 1;
        at.found.warning(
            at.values.location(source + ".path"),
            fmt::format("{} is validated and trained on{}", in_quotes(validated.names[first->validated]),
                        others > 0 ? fmt::format(", and {} more of {}", others, source) : ""),
            fmt::format("{} of {} {}", in_quotes(trained.names.at(first->trained)),
                        trained.sources.at(first->trained),
                        first->is_copy ? "has the same bytes" : "is that file"),
            "Keep it out of data.train: the loss on trained text is too low.");
        first = next;
    }
}

void sources_are_what_they_are_called(const Resolution& at) {
    ListedFiles trained;
    ListedFiles validated;
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        if (source.format == spec::TokenFormat::own) {
            check_own(at, path);
            return;
        }
        if (!is_present(at, path, source) || !at.options.read_source || !has_settings_of(at, source)) {
            return;
        }
        const auto facts = read(at, path, source);
        if (!facts) {
            return;
        }
        if (const auto& doubt = facts->doubt) {
            at.found.warning(
                at.values.location(path + ".path"),
                fmt::format("{} is read as {}", in_quotes(doubt->file), at.values.keyword(path + ".format")),
                doubt->reason, doubt->advice);
        }
        if (facts->packed) {
            expect_sequences(at, path, *facts->packed);
            if (!facts->targets || facts->targets->trained > 0) {
                warn_of_lost_samples(at, path, *facts->packed);
            }
        } else {
            expect_windows(at, path, facts->tokens);
        }
        if (facts->targets) {
            expect_a_target(at, path, *facts);
        }
        (is_of_validation(path) ? validated : trained).add(path, facts->files);
    });
    if (at.options.find_train_validation_overlap && !validated.names.empty() && !trained.names.empty()) {
        warn_of_shared_files(at, validated, trained);
    }
}

constexpr std::array rules = {
    Rule{sources_are_what_they_are_called, "data.held_out"},
};

}  // namespace

std::span<const Rule> source_rules() {
    return rules;
}

}  // namespace ziggurat::deck
