-- Ziggurat for `module load`, by Lmod. The prefix is where this file lies: it may be moved.
local prefix = myFileName():match("^(.*)/share/modulefiles/ziggurat/[^/]+$")
if not prefix then
  LmodError("ziggurat: " .. myFileName() .. " does not lie in share/modulefiles/ziggurat of a prefix. ",
            "Leave it there, and call 'module use PREFIX/share/modulefiles'.")
end

whatis("Name: ziggurat")
whatis("Version: " .. myModuleVersion())
whatis("Description: trains transformer language models, spread over ranks of MPI")
help("Puts ziggurat, its manual page and its completion for bash into the environment.\n" ..
     "Decks to begin with: " .. pathJoin(prefix, "share/ziggurat/decks"))

conflict("ziggurat")
prepend_path("PATH", pathJoin(prefix, "bin"))
-- Without a value these two stand for the system's own places, which are to stay: of MANPATH that is an empty part.
-- bash-completion looks into the second.
if mode() == "load" and (os.getenv("MANPATH") or "") == "" then
  append_path("MANPATH", "")
end
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
if mode() == "load" and (os.getenv("XDG_DATA_DIRS") or "") == "" then
  append_path("XDG_DATA_DIRS", "/usr/local/share:/usr/share")
end
prepend_path("XDG_DATA_DIRS", pathJoin(prefix, "share"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
