#include "app/command_line/command_table.hpp"

#include "app/commands.hpp"

namespace ziggurat::app {

const std::vector<CommandRow>& commands() {
    static const auto rows = AllCommands::rows();
    return rows;
}

}  // namespace ziggurat::app
