/// List of commands: the row of each, and the function that runs it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "app/command_line/command_row.hpp"

namespace ziggurat::app {

/// Command: the function that returns its row, and the function that runs it, with the same options.
template <auto row_of, auto run_with>
struct Command;

template <class O, CommandRowOf<O> (*row_of)(), int (*run_with)(const O&)>
struct Command<row_of, run_with> {
    static CommandRow row() { return of_any_options(row_of()); }
    static int run(const Options& options) { return run_with(static_cast<const O&>(options)); }
};

/// Commands in the order of the help. Code that calls only rows() links without the commands' code.
template <class... Commands>
struct CommandList {
    static std::vector<CommandRow> rows() { return {Commands::row()...}; }

    /// Runs a command and returns the exit code of the process.
    ///
    /// \param index    index of the command in rows()
    /// \param options  made by its row
    static int run(std::size_t index, const Options& options) {
        constexpr std::array runs{&Commands::run...};
        return runs.at(index)(options);
    }
};

}  // namespace ziggurat::app
