#include "deck/reference/reference.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text/units.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/rules/not_built.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::deck {
namespace {

std::string number(double value) {
    const bool is_whole = value == std::floor(value) && std::abs(value) < 1e16;
    return is_whole ? format_grouped(static_cast<std::int64_t>(value)) : write_real(value);
}

/// Returns `1 to 10,000` or `at least 0`; empty if the type implies the range.
std::string range_of(const Row& row) {
    const bool has_min = std::isfinite(row.min);
    const bool has_max = std::isfinite(row.max);
    if (!has_min && !has_max) {
        return {};
    }
    if (row.type == Type::share) {
        return fmt::format("{} to {}", write_share(row.min), write_share(row.max));
    }
    if (row.type == Type::size) {
        return fmt::format("{} to {}", write_bytes(static_cast<std::int64_t>(row.min)),
                           write_bytes(static_cast<std::int64_t>(row.max)));
    }
    if (row.min == row.max) {
        return fmt::format("only {}", number(row.min));
    }
    return has_min && has_max ? fmt::format("{} to {}", number(row.min), number(row.max))
                              : fmt::format("at least {}", number(row.min));
}

std::string takes(const Row& row) {
    const std::string range = range_of(row);
    return range.empty() ? accepted_forms(row) : fmt::format("{}; {}", accepted_forms(row), range);
}

/// Returns a sentence about the part of the key that is not implemented; empty if all is.
std::string missing_of(const Row& row) {
    if (row.implemented == Implemented::no) {
        return "Not implemented: only the default is accepted.";
    }
    std::vector<std::string_view> missing;
    for (const Feature& feature : missing_features()) {
        if (std::string_view{feature.key} == row.path) {
            missing.emplace_back(feature.what);
        }
    }
    return missing.empty() ? "" : fmt::format("Not implemented: {}.", fmt::join(missing, "; "));
}

/// Escapes a table cell: bars would end it.
std::string cell(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        escaped += c == '|' ? "\\|" : std::string_view{&c, 1};
    }
    return escaped;
}

bool is_container(const Row& row) {
    return row.type == Type::map || row.type == Type::list;
}

std::string default_of(const Row& row) {
    return row.fallback == nullptr ? "" : fmt::format("`{}`", row.fallback);
}

std::string table_row(const Row& row) {
    const std::string missing = missing_of(row);
    return fmt::format(
        "| `{}` | {} | {} | {} |\n", row.path, cell(takes(row)), default_of(row),
        cell(missing.empty() ? std::string{row.doc} : fmt::format("{} *{}*", row.doc, missing)));
}

}  // namespace

std::string reference_page() {
    std::string page =
        "# Keys of a deck\n\n"
        "Generated from the tables in `lib/deck/schema` by the target `deck_reference`; do not edit.\n\n"
        "A deck is YAML. Unknown, duplicated and mistyped keys are errors. Sizes, durations and intervals "
        "need\n"
        "units. `auto` is accepted if it is listed; `ziggurat check DECK --print` shows resolved values.\n"
        "Any value can be overridden on the command line: `ziggurat train DECK train.steps=100\n"
        "data.train[0].weight=2`.\n\n"
        "A relative path refers to the current folder of the program, not to the folder of the deck. This "
        "holds\nfor data, tokenizers, models, checkpoints, disks and `run.dir`. There are two exceptions. "
        "Paths of `include` are\nrelative to the folder of the including file. The `deck.effective.yaml` of "
        "a run trains in its own folder, so that\na copied or moved run resumes in its new folder "
        "(`ziggurat train RUN_DIR`). `run.dir=...` on the command line\ntakes precedence. A message about a "
        "missing file names the folder in which it was expected.\n";
    for (const Row* section : deck_schema().children("")) {
        page += fmt::format("\n## {}\n\n{}\n", section->path, section->doc);
        if (!is_container(*section)) {
            page += fmt::format("Takes {}.\n", takes(*section));
            continue;
        }
        page += "\n| key | takes | default | meaning |\n| --- | --- | --- | --- |\n";
        const std::string prefix = fmt::format("{}.", section->path);
        for (const Row& row : deck_schema().rows()) {
            if (std::string_view{row.path}.starts_with(prefix)) {
                page += table_row(row);
            }
        }
    }
    return page;
}

std::string machine_page() {
    std::string page =
        "# Keys of a machine file\n\n"
        "Generated from the table in `lib/deck/schema/machine_rows.cpp` by the target `deck_reference`; do "
        "not edit.\n\n"
        "A machine file describes the nodes of another machine for `ziggurat check`, `plan` and `slurm`: "
        "`--machine FILE.yaml`, or\n"
        "the name of a file in `decks/machines`. The machine itself does not need one: memory, cores and "
        "GPUs are detected, and\n"
        "`ziggurat bench all` stores the rates that it measures in such a file. Times are predicted if the "
        "rates that they depend on are\n"
        "known.\n\n"
        "| key | takes | default | meaning |\n| --- | --- | --- | --- |\n";
    for (const Row& row : machine_schema().rows()) {
        page += table_row(row);
    }
    return page;
}

std::optional<std::string> explain(const std::string& key, std::string& meant) {
    const Row* row = deck_schema().find(key);
    if (row == nullptr) {
        std::vector<std::string_view> paths;
        for (const Row& candidate : deck_schema().rows()) {
            paths.emplace_back(candidate.path);
            if (leaf_of(candidate.path) == key) {
                meant = candidate.path;
                return std::nullopt;
            }
        }
        meant = nearest(key, paths);
        return std::nullopt;
    }
    std::string text = fmt::format("{}\n  {}\n  takes    {}\n", row->path, row->doc, takes(*row));
    if (row->fallback != nullptr) {
        text += fmt::format("  default  {}\n", row->fallback);
    }
    if (const std::string missing = missing_of(*row); !missing.empty()) {
        text += fmt::format("  {}\n", missing);
    }
    if (is_container(*row)) {
        for (const Row* child : deck_schema().children(row->type == Type::list ? key + "[]" : key)) {
            text += fmt::format("  {:<24} {}\n", leaf_of(child->path), child->doc);
        }
    }
    return text;
}

}  // namespace ziggurat::deck
