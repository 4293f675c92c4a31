#include <algorithm>

#include "app/command_line/command_table.hpp"
#include "app/command_line/shipped_texts.hpp"
#include "app/command_line/version.hpp"

namespace ziggurat::app {
namespace {

/// Escapes `text` for man: hyphens stay hyphens, and no line becomes a macro.
std::string plain(const std::string& text) {
    std::string made;
    bool begins = true;
    for (const char c : text) {
        if (begins && (c == '.' || c == '\'')) {
            made += "\\&";
        }
        made += c == '\\' ? std::string{"\\e"} : c == '-' ? std::string{"\\-"} : std::string{c};
        begins = c == '\n';
    }
    return made;
}

std::string section(const std::string& name) {
    return ".SH " + name + "\n";
}

/// Returns a paragraph with a bold name as its tag.
std::string entry(const std::string& name, const std::string& doc) {
    return ".TP\n.B " + plain(name) + "\n" + plain(doc) + "\n";
}

/// Returns `text` with each empty line as a paragraph break.
std::string paragraphs(const std::string& text) {
    std::string made;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(at, end - at);
        made += line.empty() ? ".PP\n" : plain(line) + "\n";
        at = end + 1;
    }
    return made;
}

std::string command(const CommandRow& row) {
    std::string text = ".SS ziggurat " + row.name;
    for (const auto& positional : row.positionals) {
        text += " " + plain(positional.name);
    }
    text += "\n" + plain(row.doc) + "\n";
    for (const auto& positional : row.positionals) {
        text += entry(positional.name, positional.doc);
    }
    for (const auto& option : row.options) {
        text += entry(option.value.empty() ? option.name : option.name + " " + option.value, option.doc);
    }
    for (const auto& example : row.examples) {
        text += ".PP\n" + plain(example.doc) + (example.doc.ends_with('?') ? "" : ":") + "\n.PP\n.nf\n    " +
                plain(example.line) + "\n.fi\n";
    }
    return text;
}

}  // namespace

std::string man_page() {
    std::string text = ".TH ZIGGURAT 1 \"\" \"" + plain(version()) + "\" \"User Commands\"\n";
    text += section("NAME") + "ziggurat \\- trains transformer language models on MPI ranks\n";
    text += section("SYNOPSIS") + ".B ziggurat\n.I COMMAND\n[ARGUMENTS] [OPTIONS]\n";
    text += section("DESCRIPTION") + paragraphs(introduction());
    text += section("COMMANDS");
    for (const auto& row : commands()) {
        text += command(row);
    }
    text += section("OPTIONS") + entry("--help, -h", "print help, of the program or of a command") +
            entry("--version", "print the versions of Ziggurat and its libraries");
    text += section("EXIT STATUS") + paragraphs(exit_codes());
    text += section("FILES");
    text += entry("PREFIX/share/ziggurat/decks",
                  "example decks; machine files in machines; all deck keys in REFERENCE.md; token files in "
                  "DATA.md; schema.json for the completion of deck keys in editors (first line of a deck: "
                  "'# yaml-language-server: $schema=FILE')");
    text += entry("PREFIX/share/ziggurat/train.sbatch",
                  "template of a Slurm job that requeues until training is done; used by 'ziggurat slurm'");
    text += entry("PREFIX/share/modulefiles", "for 'module use' of Lmod");
    text += entry("~/.config/ziggurat", "measured rates of this machine, written by 'ziggurat bench'");
    text += section("ENVIRONMENT");
    text += entry("OMP_NUM_THREADS", "threads per rank (default: an equal share of the cores)");
    text += entry("OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY",
                  "ignored: threads use the cores that the launcher assigns to the rank");
    text += entry("NO_COLOR", "if set: no colours on a terminal");
    text += entry("ZIGGURAT_PYTHON", "Python with jinja2 that renders chat templates (default: python3)");
    text += entry("ZIGGURAT_STOP_AT", "time (seconds since 1970) before which a training saves and stops");
    return text;
}

}  // namespace ziggurat::app
