// Uses every kind of call that a client can make to the hub, and prints one line for each result: node chat.js <url> [transport]
const { HttpTransportType, HubConnectionBuilder, LogLevel, Subject } = require("@microsoft/signalr");

const [url, transport] = process.argv.slice(2);
const print = (what, value) => console.log(`${what}: ${JSON.stringify(value)}`);

async function main() {
    const connection = new HubConnectionBuilder()
        .withUrl(url, transport ? { transport: HttpTransportType[transport] } : {})
        .configureLogging(LogLevel.None)
        .build();
    const welcomed = new Promise(resolve => connection.on("welcome", resolve));
    const said = new Promise(resolve => connection.on("said", resolve));
    const closed = new Promise(resolve => connection.onclose(error => resolve(error?.message ?? null)));
    connection.on("question", question => `You asked: ${question}`);

    await connection.start();
    // Only this reveals which transport the client has chosen.
    print("transport", connection.connection.transport.constructor.name);
    print("welcome", await welcomed);
    print("echo", await connection.invoke("Echo", "Grüße"));
    print("long echo", (await connection.invoke("Echo", "x".repeat(20_000))).length);
    await connection.send("SendToAll", "to all");
    print("said", await said);
    print("answer", await connection.invoke("AskBack"));
    print("stream", await readStream(connection.stream("Count", 5)));
    print("sum", await sum(connection));
    print("failure", await connection.invoke("Fail").catch(error => error.message));
    await connection.stop();
    print("closed", await closed);
}

function readStream(stream) {
    const items = [];
    return new Promise((resolve, reject) => stream.subscribe({ next: item => items.push(item), complete: () => resolve(items), error: reject }));
}

async function sum(connection) {
    const numbers = new Subject();
    const result = connection.invoke("Sum", numbers);
    [1, 2, 3].forEach(number => numbers.next(number));
    numbers.complete();
    return await result;
}

main().then(() => process.exit(0), error => {
    console.error(error);
    process.exit(1);
});
