/// Kinds of files that are often named by mistake, recognised by their first bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ziggurat {

enum class FileKind {
    gzip,
    zstd,
    archive,    ///< packed in another way, or a container such as Parquet
    pointer,    ///< a text that stands for a file that has not been fetched: Git LFS, git-annex
    wide_text,  ///< UTF-16 or UTF-32
    web_page    ///< HTML, or the XML that object stores answer with
};

struct RecognisedFile {
    FileKind kind = FileKind::archive;
    const char* what = "";    ///< `a gzip archive`
    const char* remedy = "";  ///< a sentence: what to do to get the file that is meant
};

/// Number of bytes at the beginning of a file that recognise_file() looks at.
inline constexpr std::size_t recognised_bytes = 512;

/// Returns the kind of a file that begins with `first`; nothing if it is none of those above.
///
/// Source: RFC 1952, RFC 8878, the .xz and .zip formats, POSIX ustar, Git LFS's specification of pointers
std::optional<RecognisedFile> recognise_file(std::string_view first);

}  // namespace ziggurat
