/// Writes REFERENCE.md, MACHINES.md and schema.json from the schemas: `deck_reference FOLDER`.
#include <cstdio>
#include <fstream>

#include "deck/reference/reference.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: deck_reference FOLDER\n", stderr);
        return 2;
    }
    const std::string folder = argv[1];
    std::ofstream page{folder + "/REFERENCE.md"};
    page << ziggurat::deck::reference_page();
    std::ofstream machines{folder + "/MACHINES.md"};
    machines << ziggurat::deck::machine_page();
    std::ofstream schema{folder + "/schema.json"};
    schema << ziggurat::deck::json_schema();
    page.close();
    machines.close();
    schema.close();
    if (!page || !machines || !schema) {
        std::fprintf(stderr, "cannot write into '%s'\n", folder.c_str());
        return 3;
    }
    return 0;
}
