#include "deck/schema/deck_rows.hpp"

namespace ziggurat::deck {

using enum OnResume;

namespace {

// clang-format off
constexpr Row rows[] = {
    {.path = "deck_version", .type = Type::integer, .min = deck_version, .max = deck_version,
     .on_resume = noted, .doc = "The version of this schema; required."},
    {.path = "include", .type = Type::texts,
     .on_resume = noted,
     .doc = "Decks to read first, relative to this file. Maps are merged; all other values of this file "
            "take precedence."},
    {.path = "vars", .type = Type::variables,
     .on_resume = noted,
     .doc = "Texts for ${name} in any value; ${env:NAME} and ${env:NAME:-default} read environment "
            "variables. If NAME looks like a secret, such as HF_TOKEN, the variable stays in the effective "
            "deck for names, paths and prompts."},

    {.path = "run", .shorthand = "name", .doc = "The run as a whole."},
    {.path = "run.name", .type = Type::text, .fallback = "run", .on_resume = noted,
     .doc = "Name in the banner and in paths.",
     .is_name_or_place = true},
    {.path = "run.dir", .type = Type::path, .fallback = "auto", .keywords = "auto",
     .on_resume = noted, .doc = "Folder for all output of the run; auto is runs/ and the name."},
    {.path = "run.working_folder", .type = Type::path, .fallback = "auto", .keywords = "auto",
     .on_resume = noted,
     .doc = "Base folder of relative paths in the deck, except run.dir; auto is the current folder. A "
            "resumed run also searches the folder in which it was started."},
    {.path = "run.seed", .type = Type::integer, .fallback = "1234", .min = 0, .max = 9e15,
     .on_resume = measured, .doc = "Seed of initial weights, data order and dropout."},
    {.path = "run.resume", .type = Type::text, .fallback = "auto", .keywords = "auto never must",
     .on_resume = noted,
     .doc = "auto resumes from the newest checkpoint, if any; must requires one; never starts from "
            "scratch; or the path of a checkpoint.",
     .is_name_or_place = true},
    {.path = "run.time_limit", .type = Type::duration, .fallback = "auto", .keywords = "none auto", .min = 1, .max = 1e9,
     .on_resume = noted,
     .doc = "Time from the start of the program; the run stops in time to save a checkpoint. auto: until "
            "the end of the Slurm job, if any."},
    {.path = "run.trace", .type = Type::boolean, .fallback = "false",
     .on_resume = noted, .doc = "Writes the start and end of every operation for Perfetto."},
    {.path = "run.hang_timeout", .type = Type::duration, .fallback = "10min", .min = 1, .max = 1e9,
     .on_resume = noted,
     .doc = "Time without progress after which the run names the rank and the operation, and ends. A save "
            "gets three times as long."},
    {.path = "run.accept_data_change", .type = Type::boolean, .fallback = "false",
     .on_resume = noted,
     .doc = "Resumes although training files have changed since the checkpoint, with the sample order of "
            "the new files."},
    {.path = "run.on_event", .type = Type::text, .fallback = "none", .keywords = "none", .on_resume = noted,
     .doc = "Shell command that gets each event of the run, but not each step, as a line of JSON on its standard "
            "input; see docs/output.md. It never blocks training, and its failures are notes.",
     .is_name_or_place = true},
};
// clang-format on
static_assert(print_resume_notes(rows), "a key has a value, and no .on_resume");

}  // namespace

std::span<const Row> run_rows() {
    return rows;
}

}  // namespace ziggurat::deck
