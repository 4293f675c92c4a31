#include "base/file_kind.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <system_error>

namespace ziggurat {
namespace {

using namespace std::literals;

struct Beginning {
    std::string_view bytes;
    RecognisedFile file;
};

constexpr const char* unpack = "Unpack it first, and name a file of its contents.";

// UTF-32 comes before UTF-16: its byte-order mark begins with that of UTF-16.
constexpr std::array beginnings{
    Beginning{"\x1f\x8b\x08"sv, {FileKind::gzip, "a gzip archive", "Unpack it first: gzip -dk FILE."}},
    Beginning{"\x28\xb5\x2f\xfd"sv, {FileKind::zstd, "a zstd archive", "Unpack it first: zstd -d FILE."}},
    Beginning{"\xfd\x37zXZ\0"sv, {FileKind::archive, "an xz archive", "Unpack it first: xz -dk FILE."}},
    Beginning{"BZh91AY"sv, {FileKind::archive, "a bzip2 archive", "Unpack it first: bzip2 -dk FILE."}},
    Beginning{"PK\x03\x04"sv, {FileKind::archive, "a zip archive", unpack}},
    Beginning{"7z\xbc\xaf\x27\x1c"sv, {FileKind::archive, "a 7z archive", unpack}},
    Beginning{"\x04\x22\x4d\x18"sv, {FileKind::archive, "an lz4 archive", unpack}},
    Beginning{"PAR1"sv, {FileKind::archive, "a Parquet file", "Write its texts as JSON lines first."}},
    Beginning{"ARROW1\0\0"sv, {FileKind::archive, "an Arrow file", "Write its texts as JSON lines first."}},
    Beginning{"\x89HDF"sv, {FileKind::archive, "an HDF5 file", unpack}},
    Beginning{"%PDF-"sv, {FileKind::archive, "a PDF file", "Write its text into a file first."}},
    Beginning{"version https://git-lfs.github.com/spec/"sv,
              {FileKind::pointer, "a Git LFS pointer, not the file itself", "Fetch the file: git lfs pull."}},
    Beginning{"version https://hawser.github.com/spec/"sv,
              {FileKind::pointer, "a Git LFS pointer, not the file itself", "Fetch the file: git lfs pull."}},
    Beginning{
        "/annex/objects/"sv,
        {FileKind::pointer, "a git-annex pointer, not the file itself", "Fetch the file: git annex get."}},
    Beginning{"\xff\xfe\0\0"sv,
              {FileKind::wide_text, "text in UTF-32", "Convert it: iconv -f UTF-32 -t UTF-8 FILE."}},
    Beginning{"\0\0\xfe\xff"sv,
              {FileKind::wide_text, "text in UTF-32", "Convert it: iconv -f UTF-32 -t UTF-8 FILE."}},
    Beginning{"\xff\xfe"sv,
              {FileKind::wide_text, "text in UTF-16", "Convert it: iconv -f UTF-16 -t UTF-8 FILE."}},
    Beginning{"\xfe\xff"sv,
              {FileKind::wide_text, "text in UTF-16", "Convert it: iconv -f UTF-16 -t UTF-8 FILE."}},
};

constexpr RecognisedFile web_page{FileKind::web_page,
                                  "a web page, which a server may send instead of the file",
                                  "Fetch the file again, with its direct address and the required access."};
constexpr RecognisedFile tar{FileKind::archive, "a tar archive", unpack};
constexpr RecognisedFile weights{FileKind::archive, "weights of a model (safetensors)",
                                 "Import its model, the folder with config.json: ziggurat import MODEL RUN."};

/// Returns `first` in lower case (ASCII) without leading white space and comments of XML and HTML.
///
/// A byte-order mark at the beginning is removed as well.
std::string markup_of(std::string_view first) {
    constexpr std::string_view mark = "\xef\xbb\xbf";
    first.remove_prefix(first.starts_with(mark) ? mark.size() : 0);
    for (bool has_skipped = true; has_skipped;) {
        first.remove_prefix(std::min(first.find_first_not_of(" \t\r\n"), first.size()));
        has_skipped = first.starts_with("<!--");
        if (has_skipped) {
            const auto end = first.find("-->");
            first.remove_prefix(end == std::string_view::npos ? first.size() : end + 3);
        }
    }
    std::string text{first};
    std::ranges::transform(text, text.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return text;
}

bool is_web_page(std::string_view first) {
    const auto text = markup_of(first);
    const bool is_answer = text.starts_with("<?xml") && text.find("<error>") != std::string::npos;
    const bool is_xhtml = text.starts_with("<?xml") && text.find("<html") != std::string::npos;
    return is_answer || is_xhtml || text.starts_with("<!doctype html") || text.starts_with("<html") ||
           text.starts_with("<head>") || text.starts_with("<error><code>");
}

bool is_tar(std::string_view first) {
    constexpr std::size_t magic_offset = 257;
    return first.size() >= magic_offset + 5 && first.substr(magic_offset, 5) == "ustar";
}

/// True for a skippable frame of zstd. Some writers begin a file with one.
bool is_skippable_zstd(std::string_view first) {
    return first.size() >= 4 && (static_cast<unsigned char>(first[0]) & 0xf0U) == 0x50 &&
           first.substr(1, 3) == "\x2a\x4d\x18"sv;
}

/// True for JSON in UTF-16 without a byte-order mark.
bool is_unmarked_utf16(std::string_view first) {
    constexpr std::size_t min = 8;
    if (first.size() < min || (first[0] != '{' && first[0] != '[' && first[1] != '{' && first[1] != '[')) {
        return false;
    }
    const std::size_t zero = first[0] == '\0' ? 0 : 1;
    for (std::size_t i = 0; i < min; i += 2) {
        if (first[i + zero] != '\0' || first[i + 1 - zero] == '\0') {
            return false;
        }
    }
    return true;
}

/// True for a small length of 64 bits, followed by a JSON object of that length.
bool is_safetensors(std::string_view first) {
    constexpr std::size_t length_bytes = 8;
    return first.size() > length_bytes + 1 && first.substr(4, 4) == "\0\0\0\0"sv &&
           first.substr(length_bytes, 2) == "{\"";
}

}  // namespace

std::optional<RecognisedFile> recognise_file(std::string_view first) {
    first = first.substr(0, recognised_bytes);
    for (const auto& [bytes, file] : beginnings) {
        if (first.starts_with(bytes)) {
            return file;
        }
    }
    if (is_skippable_zstd(first)) {
        return beginnings[1].file;
    }
    if (is_tar(first)) {
        return tar;
    }
    if (is_web_page(first)) {
        return web_page;
    }
    if (is_safetensors(first)) {
        return weights;
    }
    if (is_unmarked_utf16(first)) {
        return RecognisedFile{FileKind::wide_text, "text in UTF-16",
                              "Convert it: iconv -f UTF-16LE -t UTF-8 FILE."};
    }
    return std::nullopt;
}

std::string irregular_file(const std::string& path) {
    std::error_code unreadable;
    switch (std::filesystem::status(path, unreadable).type()) {
        case std::filesystem::file_type::directory:
            return "a folder";
        case std::filesystem::file_type::fifo:
            return "a pipe";
        case std::filesystem::file_type::socket:
            return "a socket";
        case std::filesystem::file_type::character:
        case std::filesystem::file_type::block:
            return "a device";
        default:
            return "";
    }
}

}  // namespace ziggurat
