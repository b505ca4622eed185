-- wrk -t2 -c64 -d10s --latency -s benches/orders.lua http://127.0.0.1:8080/v1/orders
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"customer_id":"c-1","items":[{"product_id":"p-1","quantity":2}]}'

function done(summary)
    io.write(string.format("not 2xx: %d\n", summary.errors.status))
end
