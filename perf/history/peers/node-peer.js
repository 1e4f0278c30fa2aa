// node-fastcgi. Usage: node node-peer.js PORT, with the module in NODE_PATH.
require('node-fastcgi').createServer((request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': 13 });
  response.end('Hello, world!');
}).listen(Number(process.argv[2]), '127.0.0.1');
