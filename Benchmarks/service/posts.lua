-- wrk script: states to the `changes` of sixteen sessions in turn, each with one item in a hundred changed since the last of its session.
--   wrk … -s posts.lua URL -- items=100 bytes=120
local options = {}
local sessions, versions = 16, 8
local posts, turn = {}, 0

local function state(version)
    local rows = {}
    for index = 0, options.items - 1 do
        local changed = index % 100 == 7 and version or 0
        local start = string.format('{"id":"item-%06d","content":{"version":%d,"text":"', index, changed)
        rows[#rows + 1] = start .. string.rep("x", options.bytes - #start - 4) .. '"}}'
    end
    return "[" .. table.concat(rows, ",") .. "]"
end

function init(arguments)
    for _, argument in ipairs(arguments) do
        local name, value = argument:match("^(%w+)=(%d+)$")
        if name then options[name] = tonumber(value) end
    end
    local headers = { ["Content-Type"] = "application/json" }
    for version = 1, versions do
        local body = state(version)
        for session = 1, sessions do
            local path = string.format("/v1/sessions/posts-%d-%d/changes", options.items, session)
            posts[#posts + 1] = wrk.format("POST", path, headers, body)
        end
    end
end

function request()
    turn = turn % #posts + 1
    return posts[turn]
end
