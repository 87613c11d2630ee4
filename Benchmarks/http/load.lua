-- wrk script: POST bodies, pipelines, and a connection each, chosen by arguments behind `--`.
--   wrk … -s load.lua URL -- body=1024 depth=16 close=1
local options = {}

function init(arguments)
    for _, argument in ipairs(arguments) do
        local name, value = argument:match("^(%w+)=(%d+)$")
        if name then options[name] = tonumber(value) end
    end
    local headers = {}
    if options.close then headers["Connection"] = "close" end
    local one
    if options.body then
        one = wrk.format("POST", "/sink", headers, string.rep("a", options.body))
    else
        one = wrk.format("GET", "/healthz", headers)
    end
    bytes = string.rep(one, options.depth or 1)
end

function request() return bytes end
