/// Writes the manual page and the bash completion that are installed: `shipped_texts FOLDER`.
#include "app/command_line/shipped_texts.hpp"

#include <cstdio>
#include <fstream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: shipped_texts FOLDER\n", stderr);
        return 2;
    }
    const std::string folder = argv[1];
    std::ofstream page{folder + "/ziggurat.1"};
    page << ziggurat::app::man_page();
    std::ofstream completion{folder + "/ziggurat.bash"};
    completion << ziggurat::app::bash_completion();
    page.close();
    completion.close();
    if (!page || !completion) {
        std::fprintf(stderr, "cannot write into '%s'\n", folder.c_str());
        return 3;
    }
    return 0;
}
