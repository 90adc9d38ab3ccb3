"use strict";

// Shows the prior at the epoch that a slider is set to.
function connect(box) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const input = box.querySelector("input");
  const output = box.querySelector("output");
  const reading = box.querySelector(".reading");
  const cells = Array.from(box.querySelectorAll("rect"));
  const side = data.operations.length;
  let pointed = -1;

  function colour(multiple) {
    const [low, high] = data.limits;
    const share = Math.min(Math.max((multiple - low) / (high - low), 0), 1);
    return data.colours[Math.round(share * (data.colours.length - 1))];
  }

  function read() {
    if (pointed < 0) return;
    const first = data.operations[Math.floor(pointed / side)];
    const second = data.operations[pointed % side];
    const multiple = data.thousandths[input.value][pointed] / 1000;
    reading.textContent =
      `${first}, then ${second}: ${multiple.toFixed(2)} times uniform`;
  }

  function show() {
    const epoch = data.epochs[input.value];
    const effective = data.effective[input.value];
    output.textContent =
      `after epoch ${epoch}: ${effective} effective policies of ${cells.length}`;
    input.setAttribute("aria-valuetext", `epoch ${epoch}`);
    data.thousandths[input.value].forEach((value, index) => {
      cells[index].setAttribute("fill", colour(value / 1000));
    });
    read();
  }

  cells.forEach((cell, index) => {
    const point = () => {
      pointed = index;
      read();
    };
    cell.addEventListener("pointerenter", point);
    cell.addEventListener("click", point);
  });
  input.addEventListener("input", show);
  show();
  box.hidden = false;
}

document.querySelectorAll(".slider").forEach(connect);
document.documentElement.dataset.ready = "yes";
