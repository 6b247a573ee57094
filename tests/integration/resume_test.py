# SPDX-License-Identifier: Apache-2.0
"""A stopped and resumed run equals the uninterrupted run bit for bit."""

import os
import signal

import harness


class ResumeTest(harness.RunTest):
    def sets(self, lag, feedback="SNAPSHOT"):
        return ["rounds=60000", f"schedule.lag={lag}",
                f"schedule.feedback={feedback}", "checkpoint.every_rounds=0",
                "samples.every_rounds=0"]

    def stop_in_mid_run(self, name, sets, send):
        run = self.start(name, sets=sets)
        harness.wait_for(lambda: run.rounds() >= 5, "round 5")
        send(run)
        self.assertEqual(run.wait(), 75, run.text()[-4000:])
        step, _ = run.final_state()
        return int(step.removeprefix("step-"))

    def check(self, lag, feedback, send):
        name = f"L{lag}-{feedback}"
        sets = self.sets(lag, feedback)
        stopped = self.stop_in_mid_run(name, sets, send)
        # A different number of rounds does not make it another run.
        rounds = [f"rounds={stopped + 20}"]
        resumed = self.train(name, sets=sets + rounds)
        self.assertIn(f"{stopped}", resumed.text())
        whole = self.train(name + "-whole", sets=sets + rounds)
        self.assert_same_state(resumed, whole)

    def test_sigterm_to_gandem(self):
        for lag in (0, 1, 3):
            with self.subTest(lag=lag):
                self.check(lag, "SNAPSHOT",
                           lambda run: run.process.terminate())

    def test_ctrl_c_with_image_gradients(self):
        self.check(3, "IMAGE_GRADIENT",
                   lambda run: run.process.send_signal(signal.SIGINT))

    def test_ctrl_c_with_fused_feedback(self):
        self.check(1, "FUSED",
                   lambda run: run.process.send_signal(signal.SIGINT))

    def test_sigterm_to_a_worker(self):
        def send(run):
            os.kill(run.worker("discriminator_worker"), signal.SIGTERM)
        self.check(1, "SNAPSHOT", send)

    def test_stopped_before_there_is_a_checkpoint(self):
        run = self.start("early", flags=["--external"])
        run.control_address()
        run.process.terminate()
        self.assertEqual(run.wait(), 75, run.text())
        self.assertIn("There is no checkpoint yet", run.text())
        self.assertIn("the same command begins again", run.text())
        self.assertNotIn("resumes from there", run.text())

    def test_nothing_to_do(self):
        self.train("done", sets=["rounds=10"])
        again = self.train("done", sets=["rounds=10"])
        self.assertIn("10", again.text())


if __name__ == "__main__":
    harness.main()
